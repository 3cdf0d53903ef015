// SPDX-License-Identifier: Apache-2.0
// An observable state.

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

  /** Calls the listeners at once, and only if a value has changed. */
  set(patch: Partial<T>): void {
    const before = this.#state;
    const changed = (Object.keys(patch) as (keyof T)[]).some(
      (key) => !Object.is(before[key], patch[key]),
    );
    if (!changed) return;
    this.#state = { ...before, ...patch };
    for (const listener of [...this.#listeners]) listener(this.#state, before);
  }

  /** Calls `listener` now and at every change of one of `keys`; without keys, at every change. */
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
