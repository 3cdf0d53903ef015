// SPDX-License-Identifier: Apache-2.0
// Decodes, paces and draws the frames of one view on a canvas.
import { splitFrames } from "../net/codec.js";
import type { FrameBatchMessage } from "../net/protocol.js";
import { Pacer } from "./pacer.js";

interface Shown {
  picture: ImageBitmap;
  frame: number;
  event: number | null;
}

/** Frames of a few chunks. More would make the picture lag behind the controls. */
const kCapacity = 80;
const kUndecoded = 8;

function pacer(fps: number): Pacer<Shown> {
  return new Pacer({ fps, capacity: kCapacity, onDrop: ({ picture }) => picture.close() });
}

export class Player {
  readonly canvas: HTMLCanvasElement;
  #context: CanvasRenderingContext2D;
  #pacer = pacer(16);
  #waiting: { blob: Blob; frame: number; event: number | null }[] = []; // not yet decoded
  #decoding = false;
  #generation = 0;
  #times: number[] = [];
  #onShown: (frame: number, event: number | null, now: number) => void;

  constructor(
    canvas: HTMLCanvasElement,
    onShown: (frame: number, event: number | null, now: number) => void,
  ) {
    this.canvas = canvas;
    this.#onShown = onShown;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("This browser cannot draw on a canvas.");
    this.#context = context;
  }

  /** For another world: drops all frames of the current one. */
  reset(fps: number, size: readonly [number, number]): void {
    for (const { picture } of this.#pacer.clear()) picture.close();
    this.#pacer = pacer(fps);
    this.#waiting = [];
    this.#generation++;
    this.#times = [];
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1])
      [this.canvas.width, this.canvas.height] = size;
  }

  push(batch: FrameBatchMessage): void {
    if (batch.encoding !== "jpeg") return;
    this.#pacer.arrive(batch.num_frames, performance.now());
    splitFrames(batch).forEach((bytes, index) =>
      this.#waiting.push({
        blob: new Blob([bytes], { type: batch.content_type }),
        frame: batch.frame_index + index,
        event: batch.event_id,
      }),
    );
    // A hidden or busy page decodes late and skips the oldest frames.
    const most = 2 * batch.num_frames + kUndecoded;
    this.#waiting.splice(0, Math.max(0, this.#waiting.length - most));
    if (!this.#decoding) void this.#decode();
  }

  async #decode(): Promise<void> {
    this.#decoding = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const { blob, frame, event } = next;
      const generation = this.#generation;
      const picture = await createImageBitmap(blob).catch(() => null); // skip a damaged frame
      if (picture && generation === this.#generation) this.#pacer.push({ picture, frame, event });
      else picture?.close();
    }
    this.#decoding = false;
  }

  /** Call once per screen refresh. */
  tick(now: number): void {
    const due = this.#pacer.next(now);
    if (!due) return;
    this.#context.drawImage(due.picture, 0, 0, this.canvas.width, this.canvas.height);
    due.picture.close();
    this.#times.push(now);
    while ((this.#times[0] ?? now) < now - 3000) this.#times.shift();
    this.#onShown(due.frame, due.event, now);
  }

  /** Frames per second, over the last three seconds. */
  get fps(): number {
    const first = this.#times[0];
    const last = this.#times.at(-1);
    if (first === undefined || last === undefined || last <= first) return 0;
    if (performance.now() - last > 3000) return 0;
    return ((this.#times.length - 1) * 1000) / (last - first);
  }
}
