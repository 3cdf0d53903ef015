// SPDX-License-Identifier: Apache-2.0
// Decides when to show which frame. With pacing, the server sends frames one by one, and a few are
// held back against network jitter. Without pacing, frames arrive in bursts, which are spread over
// the time until the next burst. Frames are not shown faster than the frame rate of the video unless
// too many wait. A slow screen skips frames instead of falling behind.

export interface PacerOptions<T> {
  fps: number; // of the video
  capacity: number; // maximum number of waiting frames; the oldest are dropped
  onDrop?: (frame: T) => void; // for frames that are not shown
}

/** Number of frames that may wait when frames arrive one by one. */
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

  /** A message with `count` frames has arrived. The time since the last one gives the rate. */
  arrive(frames: number, now: number): void {
    const before = this.#last;
    this.#last = { at: now, frames };
    if (!before) return;
    const shortest = 1000 / this.#options.fps;
    const measured = Math.max(shortest, (now - before.at) / before.frames);
    // A pause (by the user, or of a hidden tab) does not count for the rate.
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
    // Screen refreshes are coarse: the delay of one frame is subtracted from the next.
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

  /** Removes and returns all waiting frames, for the caller to release. */
  clear(): T[] {
    const rest = this.#queue;
    this.#queue = [];
    this.#last = null;
    return rest;
  }
}
