// SPDX-License-Identifier: Apache-2.0
// The live views, and the overlay that covers them while there are no frames.
import { fill, h } from "../core/dom.js";
import type { WalkState } from "../session/walk.js";
import { button } from "./controls.js";
import { pauseReason } from "./names.js";
import type { ViewPane } from "./viewpane.js";

export interface StageActions {
  retry: () => void;
  takeBack: () => void;
  home: () => void;
  resume: () => void;
}

export class Stage {
  readonly element: HTMLElement;
  #panes = h("div", { class: "panes" });
  #veil = h("div", { class: "veil", role: "status" });
  #tour = h(
    "div",
    { class: "tour", role: "status", hidden: true },
    h("b", {}, "The model is being shown this place"),
    h("span", {}, "You see the recorded tour. Take a step to start walking."),
  );
  #tourBar = h("progress", { max: 1, value: 0, "aria-label": "Progress of the tour" });
  #shown = "";
  #actions: StageActions;

  constructor(actions: StageActions) {
    this.#actions = actions;
    this.#tour.append(this.#tourBar);
    this.element = h("div", { class: "stage" }, this.#panes, this.#tour, this.#veil);
  }

  /** Shows one pane, or two side by side. `ready`: their switches can be shown. */
  show(panes: readonly ViewPane[], aspect: number, ready: boolean): void {
    fill(this.#panes, ...panes.map((pane) => pane.element));
    this.#panes.dataset.count = String(panes.length);
    this.#panes.dataset.ready = String(ready);
    this.#panes.style.setProperty("--aspect", String(aspect));
  }

  update(state: Readonly<WalkState>, now: number): void {
    const { kind, title, text } = veilOf(state, now);
    const touring = kind === "none" && isTouring(state);
    this.#tour.hidden = !touring;
    if (touring) this.#tourBar.value = state.progress ?? 0;
    this.#veil.hidden = kind === "none";
    this.#veil.dataset.kind = kind;
    this.element.dataset.dim = String(kind !== "none" && kind !== "paused");
    const key = [kind, title].join("|");
    if (key !== this.#shown) {
      this.#shown = key;
      fill(this.#veil, h("div", { class: "veil-card" }, ...this.#content(kind, title, state)));
    }
    const line = this.#veil.querySelector(".veil-text");
    if (line && line.textContent !== text) line.textContent = text;
    const bar = this.#veil.querySelector("progress");
    if (bar && state.progress !== null) bar.value = state.progress;
  }

  #content(kind: string, title: string, state: Readonly<WalkState>): HTMLElement[] {
    const parts: HTMLElement[] = [];
    if (kind === "busy") parts.push(h("div", { class: "spinner", "aria-hidden": "true" }));
    parts.push(h("h2", {}, title), h("p", { class: "veil-text" }));
    if (kind === "busy" && state.progress !== null)
      parts.push(h("progress", { max: 1, value: state.progress, "aria-label": "Progress" }));
    if (kind === "lost") parts.push(button("Try now", this.#actions.retry, { kind: "primary" }));
    if (kind === "paused")
      parts.push(button("Resume", this.#actions.resume, { icon: "play", kind: "primary" }));
    if (kind === "ended") {
      const back = state.session
        ? [button("Continue here", this.#actions.takeBack, { kind: "primary" })]
        : [];
      parts.push(h("div", { class: "row" }, ...back, button("To the start", this.#actions.home)));
    }
    return parts;
  }
}

/** Whether a tour is shown to the model. */
export function isTouring(state: Readonly<WalkState>): boolean {
  return state.phase === "running" && state.reason === "tour";
}

type VeilKind = "none" | "busy" | "lost" | "paused" | "ended";

/** The overlay over the picture, or null. */
export function veilOf(
  state: Readonly<WalkState>,
  now: number,
): { kind: VeilKind; title: string; text: string } {
  const { link, phase, queue } = state;
  if (link.state === "ended")
    return { kind: "ended", title: "The walk has ended", text: state.failure ?? "" };
  if (link.state === "lost") {
    const wait = Math.max(0, Math.ceil((link.retryAt - now) / 1000));
    return {
      kind: "lost",
      title: "Connection lost",
      text: `Your walk is saved. Reconnecting in ${wait} s.`,
    };
  }
  if (link.state === "connecting")
    return {
      kind: "busy",
      title: link.attempt > 1 ? "Reconnecting" : "Connecting",
      text: "Opening a session on the server.",
    };
  if (phase === "starting") {
    const text =
      queue > 0
        ? `${queue} ahead of you.`
        : state.progress !== null
          ? "Replaying the walk so far."
          : "Encoding the first picture.";
    if (state.reason === "split")
      return {
        kind: "busy",
        title: "Opening the second memory",
        text: "It replays everything you have walked so far.",
      };
    if (state.reason === "history")
      return { kind: "busy", title: "Changing the memory", text: "Replaying the walk under the new policy." };
    return { kind: "busy", title: "Preparing the world", text };
  }
  if (phase === "paused")
    return {
      kind: "paused",
      title: "Paused",
      text: pauseReason(state.reason) || "Resume with the button or the space bar.",
    };
  if (phase === "running" && !state.pictures)
    return { kind: "busy", title: "Almost there", text: "Waiting for the first picture." };
  return { kind: "none", title: "", text: "" };
}
