// SPDX-License-Identifier: Apache-2.0
// Values over time for the plots, in bounded memory.

/** The newest `capacity` points of several lines over one x axis. */
export class Series {
  readonly #capacity: number;
  #x: number[] = [];
  #lines: (number | null)[][];

  constructor(lines: number, capacity = 600) {
    this.#capacity = capacity;
    this.#lines = Array.from({ length: lines }, () => []);
  }

  get length(): number {
    return this.#x.length;
  }

  /** Adds a point to one line. Other lines have no value at this x unless they get one. */
  add(line: number, x: number, value: number): void {
    const at = this.#place(x);
    const values = this.#lines[line];
    if (values) values[at] = Number.isFinite(value) ? value : null;
    if (this.#x.length <= this.#capacity) return;
    this.#x.shift();
    for (const other of this.#lines) other.shift();
  }

  #place(x: number): number {
    let at = this.#x.length;
    while (at > 0 && (this.#x[at - 1] ?? 0) > x) at--;
    if (at > 0 && this.#x[at - 1] === x) return at - 1;
    this.#x.splice(at, 0, x);
    for (const line of this.#lines) line.splice(at, 0, null);
    return at;
  }

  /** x, then every line: the format of uPlot. */
  get columns(): [number[], ...(number | null)[][]] {
    return [this.#x, ...this.#lines];
  }

  last(line: number): number | null {
    const values = this.#lines[line] ?? [];
    for (let i = values.length - 1; i >= 0; i--) {
      const value = values[i];
      if (value !== null && value !== undefined) return value;
    }
    return null;
  }

  /** Clears one line, or everything. */
  clear(line?: number): void {
    if (line !== undefined) {
      this.#lines[line]?.fill(null);
      return;
    }
    this.#x = [];
    this.#lines = this.#lines.map(() => []);
  }
}
