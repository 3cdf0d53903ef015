// SPDX-License-Identifier: Apache-2.0
// The bar below the view: keys, highlighted while they are held, and the prompt.
import { h } from "../core/dom.js";
import type { Devices } from "../input/devices.js";
import { kActions, type Action } from "../input/keyboard.js";
import type { WalkState } from "../session/walk.js";
import { button } from "./controls.js";
import { seconds } from "./names.js";

const kCaps: Record<Action, { cap: string; name: string }> = {
  w: { cap: "W", name: "Walk forward" },
  a: { cap: "A", name: "Step left" },
  s: { cap: "S", name: "Walk back" },
  d: { cap: "D", name: "Step right" },
  left: { cap: "←", name: "Turn left" },
  right: { cap: "→", name: "Turn right" },
  up: { cap: "↑", name: "Look up" },
  down: { cap: "↓", name: "Look down" },
};

export class Dock {
  readonly element: HTMLElement;
  #devices: Devices;
  #caps = new Map<Action, HTMLElement>();
  #prompt: HTMLInputElement;
  #form: HTMLFormElement;
  #facts = h("p", { class: "facts" });
  #path: HTMLButtonElement;

  constructor(devices: Devices, onPrompt: (text: string) => void, onPath: () => void) {
    this.#devices = devices;
    this.#prompt = h("input", {
      type: "text",
      placeholder: "Describe the world",
      "aria-label": "Prompt",
      autocomplete: "off",
      maxLength: 2000,
    });
    this.#form = h(
      "form",
      {
        class: "prompt",
        onsubmit: (event: Event) => {
          event.preventDefault();
          onPrompt(this.#prompt.value);
          this.#prompt.blur();
        },
      },
      this.#prompt,
      h("button", { type: "submit", class: "button" }, "Apply"),
    );
    this.#path = button("Follow the example path", onPath, { icon: "path", kind: "quiet" });
    this.#path.hidden = true;
    this.element = h(
      "div",
      { class: "dock" },
      h(
        "div",
        { class: "keys", role: "group", "aria-label": "Walk" },
        ...this.#capsOf(["w", "a", "s", "d"]),
      ),
      h("div", { class: "stick-holder" }, this.#stick("walk", "Walk")),
      h("div", { class: "dock-middle" }, this.#form, this.#path, this.#facts),
      h("div", { class: "stick-holder" }, this.#stick("look", "Look around")),
      h(
        "div",
        { class: "keys arrows", role: "group", "aria-label": "Look" },
        ...this.#capsOf(["up", "left", "down", "right"]),
      ),
    );
  }

  /** `text`: the model uses prompts. `path`: the start has an example path. */
  offer(text: boolean, path: boolean): void {
    this.#form.hidden = !text;
    this.#path.hidden = !path;
  }

  update(state: Readonly<WalkState>, metres: number): void {
    if (document.activeElement !== this.#prompt && this.#prompt.value !== state.prompt)
      this.#prompt.value = state.prompt;
    const { session } = state;
    if (!session) {
      this.#facts.textContent = "";
      return;
    }
    const latents = Math.max(
      ...state.memories.map(({ stats }) => (stats ? stats.first_latent + stats.poses.length : 0)),
      session.latents,
    );
    const time = (latents * session.frames_per_latent) / session.fps;
    const held = state.memories.map(({ total }) => total).filter((count) => count > 0);
    const facts = [
      `${seconds(time)} walked`,
      `${metres.toFixed(1)} m`,
      held.length ? `${held.join(" · ")} frames in memory` : "",
    ];
    this.#facts.textContent = facts.filter(Boolean).join("   ·   ");
  }

  /** Highlights the keys that are held. */
  light(): void {
    const held = new Set(this.#devices.actions);
    const { forward, right, yaw, pitch } = this.#devices.axes;
    const pushed: Record<Action, boolean> = {
      w: forward > 0.3,
      s: forward < -0.3,
      a: right < -0.3,
      d: right > 0.3,
      left: yaw < -0.3,
      right: yaw > 0.3,
      up: pitch > 0.3,
      down: pitch < -0.3,
    };
    for (const action of kActions)
      this.#caps.get(action)?.classList.toggle("held", held.has(action) || pushed[action]);
  }

  #capsOf(actions: readonly Action[]): HTMLElement[] {
    return actions.map((action) => {
      const { cap, name } = kCaps[action];
      const element = h(
        "button",
        { type: "button", class: `cap cap-${action}`, "aria-label": name, title: name },
        cap,
      );
      this.#devices.holdOn(element, action);
      this.#caps.set(action, element);
      return element;
    });
  }

  #stick(name: "walk" | "look", label: string): HTMLElement {
    const knob = h("div", { class: "knob" });
    const pad = h(
      "div",
      { class: "stick", role: "img", "aria-label": `${label}: drag` },
      knob,
      h("span", {}, label),
    );
    this.#devices.stickOn(pad, name, (x, y) => {
      knob.style.transform = `translate(${x * 60}%, ${-y * 60}%)`;
      pad.classList.toggle("held", x !== 0 || y !== 0);
    });
    return pad;
  }
}
