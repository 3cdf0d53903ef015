// SPDX-License-Identifier: Apache-2.0
// When to show which frame. Frames come in bursts, a chunk at a time; they are shown evenly, at the
// rate at which chunks really come and never above the video's own.

export interface PacerOptions {
  fps: number; // of the video
  capacity: number; // frames held at most; the oldest are dropped
}

export class Pacer<T> {
  #options: PacerOptions;
  #queue: T[] = [];
  #period: number; // ms between frames
  #due = 0;
  #burst: { start: number; frames: number } | null = null;
  #dropped = 0;

  constructor(options: PacerOptions) {
    this.#options = options;
    this.#period = 1000 / options.fps;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  get dropped(): number {
    return this.#dropped;
  }

  get fps(): number {
    return 1000 / this.#period;
  }

  /** A chunk began to arrive at `now`; the time since the chunk before tells the rate. */
  beginChunk(now: number): void {
    const before = this.#burst;
    this.#burst = { start: now, frames: 0 };
    if (!before || before.frames === 0) return;
    const measured = (now - before.start) / before.frames;
    const shortest = 1000 / this.#options.fps;
    // A pause (the user stopped, the tab slept) is no rate.
    if (measured > 20 * Math.max(this.#period, shortest)) return;
    this.#period = Math.max(shortest, 0.6 * this.#period + 0.4 * Math.max(shortest, measured));
  }

  push(frame: T): T | undefined {
    if (this.#burst) this.#burst.frames++;
    this.#queue.push(frame);
    if (this.#queue.length <= this.#options.capacity) return undefined;
    this.#dropped++;
    return this.#queue.shift();
  }

  /** The frame to show now, if one is due. Late by several frames, it catches up one by one. */
  next(now: number): T | undefined {
    if (this.#queue.length === 0 || now < this.#due) return undefined;
    // More than a chunk in stock: go faster, so that what is seen stays close to what is made.
    const stock = this.#queue.length / Math.max(1, this.#burst?.frames ?? 1);
    const step = this.#period * (stock > 1.5 ? 0.7 : 1);
    this.#due = Math.max(this.#due + step, now);
    if (this.#due - now > 2 * step || this.#due === now) this.#due = now + step;
    return this.#queue.shift();
  }

  /** Everything waiting, for the caller to release. */
  clear(): T[] {
    const rest = this.#queue;
    this.#queue = [];
    this.#burst = null;
    return rest;
  }
}
