// SPDX-License-Identifier: Apache-2.0
// When to show which frame. A server that paces sends frames one by one: a few are held back to even
// out the network. One that does not sends bursts: they are spread over the time until the next one.
// Never is a frame shown faster than the video's own rate allows, unless too many wait; a screen that
// cannot keep up skips frames rather than fall behind.

export interface PacerOptions<T> {
  fps: number; // of the video
  capacity: number; // frames held at most; the oldest are dropped
  onDrop?: (frame: T) => void; // it will not be shown
}

/** Frames that may wait without hurry where they come one by one. */
const kSlack = 2;

export class Pacer<T> {
  #options: PacerOptions<T>;
  #queue: T[] = [];
  #period: number; // ms between frames, measured
  #due = -Infinity;
  #last: { at: number; frames: number } | null = null;
  #dropped = 0;

  constructor(options: PacerOptions<T>) {
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

  /** A message with so many frames came; the time since the one before tells the rate. */
  arrive(frames: number, now: number): void {
    const before = this.#last;
    this.#last = { at: now, frames };
    if (!before) return;
    const shortest = 1000 / this.#options.fps;
    const measured = Math.max(shortest, (now - before.at) / before.frames);
    // A pause (the user stopped, the tab slept) is no rate.
    if (measured > 20 * this.#period) return;
    const weight = before.frames > 1 ? 0.4 : 0.1;
    this.#period += weight * (measured - this.#period);
  }

  push(frame: T): void {
    this.#queue.push(frame);
    if (this.#queue.length > this.#options.capacity) this.#drop(1);
  }

  /** The frame to show now, if one is due. */
  next(now: number): T | undefined {
    if (this.#queue.length === 0 || now < this.#due) return undefined;
    const allowed = Math.max(kSlack, this.#last?.frames ?? 0);
    const surplus = Math.max(0, this.#queue.length - allowed);
    const step = this.#period / (1 + 0.2 * surplus);
    // Ticks of the screen are coarse: what one frame was late by is taken off the next.
    const late = now - this.#due;
    this.#due = now + step - (late < step ? late : 0);
    if (Number.isFinite(late)) this.#drop(Math.min(surplus, Math.floor(late / step)));
    return this.#queue.shift();
  }

  #drop(count: number): void {
    for (const frame of this.#queue.splice(0, count)) {
      this.#dropped++;
      this.#options.onDrop?.(frame);
    }
  }

  /** Everything waiting, for the caller to release. */
  clear(): T[] {
    const rest = this.#queue;
    this.#queue = [];
    this.#last = null;
    return rest;
  }
}
