// SPDX-License-Identifier: Apache-2.0
// From a control to the first picture that obeys it, as the eye sees it.

export class LatencyMeter {
  #sent = new Map<number, number>();

  sent(event: number, now: number): void {
    this.#sent.set(event, now);
    // Events that no picture ever answers must not pile up.
    const oldest = this.#sent.keys().next().value;
    if (this.#sent.size > 256 && oldest !== undefined) this.#sent.delete(oldest);
  }

  /** A picture made with everything up to `event` is shown: ms since the oldest of them was sent. */
  shown(event: number | null, now: number): number | null {
    if (event === null) return null;
    let first: number | null = null;
    for (const [id, time] of this.#sent) {
      if (id > event) continue;
      first = first === null ? time : Math.min(first, time);
      this.#sent.delete(id);
    }
    return first === null ? null : now - first;
  }

  clear(): void {
    this.#sent.clear();
  }
}
