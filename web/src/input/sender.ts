// SPDX-License-Identifier: Apache-2.0
// Decides what to send: changes of keys and axes at once, looks collected over a short time.
import { kStill, quantise, sameAxes, type Axes } from "./axes.js";
import type { Action } from "./keyboard.js";

/** A transition of docs/protocol.md; fields that did not change are absent. */
export interface Transition {
  actions?: Action[];
  axes?: Axes;
  look?: [number, number];
  client_ts_ms: number;
}

const kLookMs = 60;

export class ControlSender {
  #actions: Action[] = [];
  #axes: Axes = { ...kStill };
  #look: [number, number] = [0, 0];
  #lookSent = -Infinity;

  /** Adds degrees to the right and up. */
  look(yaw: number, pitch: number): void {
    this.#look = [this.#look[0] + yaw, this.#look[1] + pitch];
  }

  /** The transition to send now, or null. */
  take(now: number, actions: readonly Action[], axes: Readonly<Axes>): Transition | null {
    const out: Transition = { client_ts_ms: Math.round(now) };
    if (actions.join() !== this.#actions.join()) {
      this.#actions = [...actions];
      out.actions = [...actions];
    }
    const rounded = quantise(axes);
    if (!sameAxes(rounded, this.#axes)) {
      this.#axes = rounded;
      out.axes = rounded;
    }
    const turned = this.#look[0] !== 0 || this.#look[1] !== 0;
    if (turned && (now - this.#lookSent >= kLookMs || out.actions || out.axes)) {
      out.look = [round(this.#look[0]), round(this.#look[1])];
      this.#look = [0, 0];
      this.#lookSent = now;
    }
    return out.actions || out.axes || out.look ? out : null;
  }

  /** For a new connection: the next take() returns everything that is held. */
  reset(): void {
    this.#actions = [];
    this.#axes = { ...kStill };
    this.#look = [0, 0];
  }
}

const round = (degrees: number): number => Math.round(degrees * 100) / 100;
