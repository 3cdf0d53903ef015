// SPDX-License-Identifier: Apache-2.0
// Measures the time from a control to the first frame on the screen that shows its effect.

export class LatencyMeter {
  #sent = new Map<number, number>();

  sent(event: number, now: number): void {
    this.#sent.set(event, now);
    // Events without a frame must not accumulate.
    const oldest = this.#sent.keys().next().value;
    if (this.#sent.size > 256 && oldest !== undefined) this.#sent.delete(oldest);
  }

  /** A frame that applied all events up to `event` is shown. Returns ms since the oldest was sent. */
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
