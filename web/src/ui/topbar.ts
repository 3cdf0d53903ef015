// SPDX-License-Identifier: Apache-2.0
// The bar at the top: name of the world, state of the connection, actions.
import { h } from "../core/dom.js";
import type { WalkState } from "../session/walk.js";
import { button, relabel } from "./controls.js";
import { icon } from "./icons.js";

export interface TopbarActions {
  home: () => void;
  rename: () => void;
  pause: () => void;
  split: () => void;
  record: () => void;
  save: () => void;
  fork: () => void;
  worlds: () => void;
  help: () => void;
  theme: () => void;
}

type Tone = "good" | "wait" | "bad" | "idle";

export function statusOf(
  state: Readonly<WalkState>,
  fps: number,
  now: number,
): { text: string; tone: Tone } {
  const { link, phase } = state;
  if (phase === "none") return { text: "", tone: "idle" };
  if (link.state === "lost")
    return {
      text: `Reconnecting in ${Math.max(0, Math.ceil((link.retryAt - now) / 1000))} s`,
      tone: "bad",
    };
  if (link.state === "ended") return { text: "Ended", tone: "bad" };
  if (link.state === "connecting")
    return { text: link.attempt > 1 ? "Reconnecting" : "Connecting", tone: "wait" };
  if (phase === "starting") return { text: "Preparing", tone: "wait" };
  if (phase === "paused") return { text: "Paused", tone: "idle" };
  if (!state.memories.some(({ stats }) => stats && stats.chunk_index > 0))
    return { text: "Waiting for the first chunk", tone: "wait" };
  if (fps > 0) return { text: `Live · ${fps.toFixed(fps < 10 ? 1 : 0)} fps`, tone: "good" };
  return { text: "Live", tone: "good" };
}

export class Topbar {
  readonly element: HTMLElement;
  #name: HTMLButtonElement;
  #status = h("span", { class: "status", role: "status" });
  #walking: HTMLElement;
  #pause: HTMLButtonElement;
  #record: HTMLButtonElement;
  #split: HTMLButtonElement;
  #theme: HTMLButtonElement;

  constructor(actions: TopbarActions) {
    this.#name = h("button", {
      type: "button",
      class: "world-name",
      title: "Rename this world",
      onclick: actions.rename,
    });
    this.#pause = button("Pause", actions.pause, { icon: "pause", shy: true, keys: "Space" });
    this.#split = button("Split view", actions.split, {
      icon: "split",
      shy: true,
      hint: "Compare with a second memory, side by side",
    });
    this.#record = button("Record", actions.record, { icon: "record", shy: true, keys: "R" });
    this.#theme = button("Dark theme", actions.theme, {
      icon: "moon",
      kind: "quiet",
      bare: true,
    });
    this.#walking = h(
      "div",
      { class: "walk-actions", role: "toolbar", "aria-label": "This world" },
      this.#pause,
      this.#split,
      this.#record,
      button("Save", actions.save, {
        icon: "save",
        shy: true,
        hint: "Save this world as it is now",
      }),
      button("Fork", actions.fork, {
        icon: "fork",
        shy: true,
        hint: "Continue in a copy; this world stays as it is",
      }),
    );
    this.element = h(
      "header",
      { class: "topbar" },
      h(
        "button",
        {
          type: "button",
          class: "brand",
          onclick: actions.home,
          "aria-label": "loci: back to the start screen",
          title: "Back to the start screen",
        },
        mark(),
        h("span", {}, "loci"),
      ),
      this.#name,
      this.#status,
      h("span", { class: "spring" }),
      this.#walking,
      button("Worlds", actions.worlds, { icon: "worlds", shy: true }),
      button("Help", actions.help, { icon: "help", kind: "quiet", bare: true, keys: "?" }),
      this.#theme,
    );
  }

  theme(dark: boolean): void {
    relabel(this.#theme, dark ? "Light theme" : "Dark theme", dark ? "sun" : "moon");
  }

  update(state: Readonly<WalkState>, fps: number): void {
    const walking = state.phase !== "none";
    this.#walking.hidden = !walking;
    this.#name.hidden = !walking || !state.session;
    this.#name.textContent = state.name || "Unnamed world";
    const { text, tone } = statusOf(state, fps, Date.now());
    if (this.#status.textContent !== text) this.#status.textContent = text;
    this.#status.dataset.tone = tone;
    this.#status.hidden = !text;
    const open = state.link.state === "open" && state.session !== null;
    for (const element of this.#walking.querySelectorAll("button")) element.disabled = !open;
    this.#split.setAttribute("aria-pressed", String(state.memories.length > 1));
    const paused = state.phase === "paused";
    setOnce(this.#pause, paused ? "Resume" : "Pause", () =>
      relabel(this.#pause, paused ? "Resume" : "Pause", paused ? "play" : "pause"),
    );
    const recording = state.recording !== "off";
    setOnce(this.#record, recording ? "Stop" : "Record", () =>
      relabel(this.#record, recording ? "Stop" : "Record", recording ? "stop" : "record"),
    );
    this.#record.setAttribute("aria-pressed", String(recording));
    this.#record.disabled ||= state.recording === "starting" || state.recording === "stopping";
  }
}

function setOnce(element: HTMLElement, value: string, apply: () => void): void {
  if (element.dataset.shows === value) return;
  element.dataset.shows = value;
  apply();
}

function mark(): SVGSVGElement {
  const svg = icon("worlds");
  svg.classList.add("mark");
  return svg;
}
