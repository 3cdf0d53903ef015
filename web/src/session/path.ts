// SPDX-License-Identifier: Apache-2.0
// The walked path: a pose per latent frame, the newest ones of a walk without end.
import { distance, fromWire, type Pose } from "../core/pose.js";

const kLongest = 8192;

export class WalkedPath {
  #first = 0;
  #poses: Pose[] = [];

  get poses(): readonly Pose[] {
    return this.#poses;
  }

  get last(): Pose | null {
    return this.#poses.at(-1) ?? null;
  }

  /** Latent frame behind the last one. */
  get end(): number {
    return this.#first + this.#poses.length;
  }

  reset(first: number, poses: readonly number[][]): void {
    this.#first = first;
    this.#poses = poses.map(fromWire);
    this.#trim();
  }

  /** Poses from latent `first` on. What was known of them is replaced; behind a gap it starts afresh. */
  extend(first: number, poses: readonly number[][]): void {
    if (first < this.#first || first > this.end) {
      this.reset(first, poses);
      return;
    }
    this.#poses.length = first - this.#first;
    this.#poses.push(...poses.map(fromWire));
    this.#trim();
  }

  /** Metres walked along what is kept. */
  get length(): number {
    let sum = 0;
    for (let i = 1; i < this.#poses.length; i++) {
      const [a, b] = [this.#poses[i - 1], this.#poses[i]];
      if (a && b) sum += distance(a, b);
    }
    return sum;
  }

  #trim(): void {
    const surplus = this.#poses.length - kLongest;
    if (surplus <= 0) return;
    this.#poses.splice(0, surplus);
    this.#first += surplus;
  }
}
