// SPDX-License-Identifier: Apache-2.0
// Collects the input of keyboard, mouse, touch and gamepad for the sender.
import { combine, stick, type Axes, kStill } from "./axes.js";
import { firstPad, padAxes } from "./gamepad.js";
import { Keyboard, type Action } from "./keyboard.js";
import { ControlSender, type Transition } from "./sender.js";

/** Degrees per dragged pixel: about 90 degrees across a view of 800 pixels. */
const kDegreesPerPixel = 0.12;

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

export class Devices {
  readonly #keyboard = new Keyboard();
  readonly #sender = new ControlSender();
  #pressed = new Set<Action>(); // on the page's own keys
  #sticks = new Map<string, { x: number; y: number }>();
  #axes: Axes = { ...kStill };
  #enabled = false;

  constructor() {
    addEventListener("keydown", (event) => {
      if (!this.#enabled || event.ctrlKey || event.metaKey || event.altKey || typing(event.target))
        return;
      if (document.querySelector("dialog[open]") || !Keyboard.walks(event.code)) return;
      event.preventDefault(); // arrows would scroll
      this.#keyboard.press(event.code);
    });
    addEventListener("keyup", (event) => this.#keyboard.release(event.code));
    addEventListener("blur", () => this.#letGo());
    document.addEventListener("visibilitychange", () => document.hidden && this.#letGo());
  }

  /** Disabled on the start screen, where the keys control the page. */
  set enabled(on: boolean) {
    this.#enabled = on;
    if (!on) this.#letGo();
  }

  /** Dragging on the element looks around. */
  lookOn(element: HTMLElement): void {
    let last: { id: number; x: number; y: number } | null = null;
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || last) return;
      last = { id: event.pointerId, x: event.clientX, y: event.clientY };
      element.setPointerCapture(event.pointerId);
      element.dataset.looking = "";
    });
    element.addEventListener("pointermove", (event) => {
      if (last?.id !== event.pointerId || !this.#enabled) return;
      // Dragging with a finger moves the picture; dragging with the mouse turns the camera.
      const sign = event.pointerType === "mouse" ? 1 : -1;
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      this.#sender.look(sign * dx * kDegreesPerPixel, sign * -dy * kDegreesPerPixel);
      last = { id: event.pointerId, x: event.clientX, y: event.clientY };
    });
    const end = (event: PointerEvent): void => {
      if (last?.id !== event.pointerId) return;
      last = null;
      delete element.dataset.looking;
    };
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
  }

  /** A key on the page, held with mouse, finger or Enter. */
  holdOn(element: HTMLElement, action: Action): void {
    const hold = (): void => void this.#pressed.add(action);
    const release = (): void => void this.#pressed.delete(action);
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      hold();
    });
    for (const name of ["pointerup", "pointercancel", "lostpointercapture", "blur"] as const)
      element.addEventListener(name, release);
    element.addEventListener("pointerup", () => element.blur()); // keys must control the walk, not the button
    element.addEventListener(
      "keydown",
      (event) => (event.key === "Enter" || event.key === " ") && hold(),
    );
    element.addEventListener("keyup", release);
  }

  /** A stick on the page, "walk" or "look". `onMove` gets the position of its knob, -1 to 1. */
  stickOn(
    element: HTMLElement,
    name: "walk" | "look",
    onMove: (x: number, y: number) => void,
  ): void {
    let start: { id: number; x: number; y: number } | null = null;
    element.addEventListener("pointerdown", (event) => {
      const box = element.getBoundingClientRect();
      start = { id: event.pointerId, x: box.left + box.width / 2, y: box.top + box.height / 2 };
      element.setPointerCapture(event.pointerId);
      move(event);
    });
    const move = (event: PointerEvent): void => {
      if (start?.id !== event.pointerId) return;
      const radius = element.clientWidth / 2;
      const value = stick(event.clientX - start.x, event.clientY - start.y, radius * 0.8);
      this.#sticks.set(name, value);
      onMove(value.x, value.y);
    };
    const end = (event: PointerEvent): void => {
      if (start?.id !== event.pointerId) return;
      start = null;
      this.#sticks.delete(name);
      onMove(0, 0);
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
  }

  /** The actions that are held now, for display. */
  get actions(): Action[] {
    return [...new Set([...this.#keyboard.actions, ...this.#pressed])].sort() as Action[];
  }

  get axes(): Readonly<Axes> {
    return this.#axes;
  }

  /** The transition to send, or null. */
  take(now: number): Transition | null {
    const walk = this.#sticks.get("walk") ?? { x: 0, y: 0 };
    const look = this.#sticks.get("look") ?? { x: 0, y: 0 };
    const touch: Axes = { forward: walk.y, right: walk.x, yaw: look.x, pitch: look.y };
    this.#axes = this.#enabled ? combine([touch, padAxes(firstPad())]) : { ...kStill };
    return this.#sender.take(now, this.#enabled ? this.actions : [], this.#axes);
  }

  /** Releases everything, as for a new session. */
  forget(): void {
    this.#sender.reset();
  }

  #letGo(): void {
    this.#keyboard.releaseAll();
    this.#pressed.clear();
    this.#sticks.clear();
  }
}
