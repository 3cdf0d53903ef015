// SPDX-License-Identifier: Apache-2.0
// The path of the walk: one pose per latent frame, limited to the newest ones.
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

  /** Index after the last latent. */
  get end(): number {
    return this.#first + this.#poses.length;
  }

  reset(first: number, poses: readonly number[][]): void {
    this.#first = first;
    this.#poses = poses.map(fromWire);
    this.#trim();
  }

  /** Sets the poses from latent `first` on. After a gap the path starts anew. */
  extend(first: number, poses: readonly number[][]): void {
    if (first < this.#first || first > this.end) {
      this.reset(first, poses);
      return;
    }
    this.#poses.length = first - this.#first;
    this.#poses.push(...poses.map(fromWire));
    this.#trim();
  }

  /** Length of the stored path in metres. */
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
