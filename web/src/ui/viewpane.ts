// SPDX-License-Identifier: Apache-2.0
// One view of the stage: its picture, the settings of its memory, and the revisited frame.
import { fill, h } from "../core/dom.js";
import type { Thumbnail } from "../session/thumbnails.js";
import type { MemoryState } from "../session/walk.js";
import { button, select, setChoices, Stepper } from "./controls.js";
import { historyName, kReadouts } from "./names.js";

export interface PaneActions {
  history: (view: number, value: string) => void;
  steps: (view: number, value: number) => void;
  readout: (view: number, value: string) => void;
  reset: (view: number) => void;
}

export class ViewPane {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly surface: HTMLElement;
  #history: HTMLSelectElement;
  #steps: Stepper;
  #readout: HTMLSelectElement;
  #reset: HTMLButtonElement;
  #recall = h("div", { class: "recall", hidden: true, "aria-live": "off" });
  #recalled = "";
  #model = h("span", { class: "pane-model", hidden: true });
  #tag = h("span", { class: "pane-tag" });

  constructor(view: number, actions: PaneActions) {
    this.canvas = h("canvas", {
      class: "picture",
      width: 3,
      height: 2,
      role: "img",
      "aria-label": "Live view",
    });
    this.#history = select("History policy", [], (value) => actions.history(view, value));
    this.#steps = new Stepper("Denoising steps", 1, 50, (value) => actions.steps(view, value));
    this.#readout = select("Readout of the recurrent state", [], (value) =>
      actions.readout(view, value),
    );
    this.#reset = button("Reset memory", () => actions.reset(view), {
      icon: "reset",
      kind: "quiet",
      shy: true,
      hint: "Reset the recurrent state",
    });
    this.surface = h(
      "div",
      {
        class: "surface",
        tabIndex: 0,
        role: "application",
        "aria-label": "Live view: walk with W A S D, look with the arrows or by dragging",
      },
      h("div", { class: "frame" }, this.canvas, this.#tag, this.#recall),
    );
    this.element = h(
      "section",
      { class: "pane", dataset: { view: String(view) }, "aria-label": `Memory ${view + 1}` },
      h(
        "div",
        { class: "pane-bar" },
        h("span", { class: "pane-key", "aria-hidden": "true" }),
        this.#model,
        this.#history,
        h("label", { class: "inline" }, h("span", {}, "Steps"), this.#steps.element),
        this.#readout,
        this.#reset,
      ),
      this.surface,
    );
  }

  /** Offers the model's policies and readouts; shows its name if the two views have different models. */
  offer(histories: readonly string[], readouts: readonly string[], model: string | null): void {
    this.#model.hidden = model === null;
    this.#model.textContent = this.#model.title = model ?? "";
    setChoices(
      this.#history,
      histories.map((value) => ({ value, label: historyName(value).label })),
    );
    setChoices(
      this.#readout,
      readouts.map((value) => ({ value, label: kReadouts[value] ?? value })),
    );
  }

  /** The short name that tells two views apart. */
  name(text: string): void {
    if (this.#tag.textContent !== text) this.#tag.textContent = text;
  }

  update(memory: MemoryState, thumbnail: (frame: number) => Thumbnail | undefined): void {
    const { info, revisited } = memory;
    if (document.activeElement !== this.#history) this.#history.value = info.history;
    this.#history.title = historyName(info.history).hint;
    this.#steps.value = info.steps;
    if (document.activeElement !== this.#readout) this.#readout.value = info.readout;
    this.#readout.hidden = this.#reset.hidden = !info.recurrent;
    this.#recall.hidden = revisited === null;
    if (!revisited) return;
    const picture = thumbnail(revisited.frame);
    const what = `${revisited.frame} ${Math.round(revisited.overlap * 100)} ${picture !== undefined}`;
    if (what === this.#recalled) return;
    this.#recalled = what;
    fill(
      this.#recall,
      picture && copyOf(picture),
      h(
        "span",
        {},
        h("b", {}, "Seen before"),
        `frame ${revisited.frame} · ${Math.round(revisited.overlap * 100)} %`,
      ),
    );
  }
}

function copyOf({ picture }: Thumbnail): HTMLCanvasElement {
  const canvas = h("canvas", {
    width: picture.width,
    height: picture.height,
    "aria-hidden": "true",
  });
  canvas.getContext("2d")?.drawImage(picture, 0, 0);
  return canvas;
}
