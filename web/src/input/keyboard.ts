// SPDX-License-Identifier: Apache-2.0
// Maps keys to actions. Keys are identified by their position (KeyboardEvent.code), so that W A S D
// are in the same place on every layout.

export type Action = "w" | "a" | "s" | "d" | "left" | "right" | "up" | "down";

export const kActions: readonly Action[] = ["w", "a", "s", "d", "left", "right", "up", "down"];

const kKeys: Record<string, Action> = {
  KeyW: "w",
  KeyA: "a",
  KeyS: "s",
  KeyD: "d",
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  KeyJ: "left",
  KeyL: "right",
  KeyI: "up",
  KeyK: "down",
};

export class Keyboard {
  #held = new Set<string>();

  static walks(code: string): boolean {
    return Object.hasOwn(kKeys, code);
  }

  press(code: string): void {
    if (Keyboard.walks(code)) this.#held.add(code);
  }

  release(code: string): void {
    this.#held.delete(code);
  }

  /** Releases all keys: a window without focus gets no keyup events. */
  releaseAll(): void {
    this.#held.clear();
  }

  /** The actions that are held, without duplicates and in a fixed order. */
  get actions(): Action[] {
    const held = new Set([...this.#held].map((code) => kKeys[code]));
    return kActions.filter((action) => held.has(action));
  }
}
