// SPDX-License-Identifier: Apache-2.0
// A value that others watch.

type Listener<T> = (state: Readonly<T>, before: Readonly<T>) => void;

export class Store<T extends object> {
  #state: T;
  #listeners = new Set<Listener<T>>();

  constructor(initial: T) {
    this.#state = initial;
  }

  get state(): Readonly<T> {
    return this.#state;
  }

  /** Listeners hear of it at once, and only if something differs. */
  set(patch: Partial<T>): void {
    const before = this.#state;
    const changed = (Object.keys(patch) as (keyof T)[]).some(
      (key) => !Object.is(before[key], patch[key]),
    );
    if (!changed) return;
    this.#state = { ...before, ...patch };
    for (const listener of [...this.#listeners]) listener(this.#state, before);
  }

  /** Calls `listener` now and at every change of one of `keys` (of anything, without keys). */
  watch(keys: readonly (keyof T)[], listener: Listener<T>): () => void {
    const wrapped: Listener<T> = (state, before) => {
      if (keys.length === 0 || keys.some((key) => !Object.is(state[key], before[key])))
        listener(state, before);
    };
    this.#listeners.add(wrapped);
    listener(this.#state, this.#state);
    return () => this.#listeners.delete(wrapped);
  }
}
