// SPDX-License-Identifier: Apache-2.0
// Small pictures of latent frames, for the map and the panorama.

export interface Thumbnail {
  picture: ImageBitmap;
  /** A small copy for looking up colours: RGBA, row by row. */
  pixels: Uint8ClampedArray;
  columns: number;
  rows: number;
}

const kColumns = 24;
const kRows = 16;

export class ThumbnailCache {
  #known = new Map<number, Thumbnail>();
  #kept: ReadonlySet<number> = new Set();
  #capacity: number;
  #scratch: CanvasRenderingContext2D | null;
  #onChange: () => void;

  constructor(onChange: () => void, capacity = 256) {
    this.#onChange = onChange;
    this.#capacity = capacity;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [kColumns, kRows];
    this.#scratch = canvas.getContext("2d", { willReadFrequently: true });
  }

  get(frame: number): Thumbnail | undefined {
    return this.#known.get(frame);
  }

  /** Marks frames to keep. Beyond the capacity, other frames are dropped, oldest first. */
  keep(frames: Iterable<number>): void {
    this.#kept = new Set(frames);
    for (const [frame, thumbnail] of this.#known) {
      if (this.#known.size <= this.#capacity) break;
      if (this.#kept.has(frame)) continue;
      this.#known.delete(frame);
      thumbnail.picture.close();
    }
  }

  async add(frames: readonly { frame: number; jpeg: Uint8Array<ArrayBuffer> }[]): Promise<void> {
    await Promise.all(
      frames.map(async ({ frame, jpeg }) => {
        const picture = await createImageBitmap(new Blob([jpeg], { type: "image/jpeg" })).catch(
          () => null,
        );
        if (!picture || !this.#scratch) return;
        this.#scratch.drawImage(picture, 0, 0, kColumns, kRows);
        const { data } = this.#scratch.getImageData(0, 0, kColumns, kRows);
        this.#known.get(frame)?.picture.close();
        this.#known.set(frame, { picture, pixels: data, columns: kColumns, rows: kRows });
      }),
    );
    this.#onChange();
  }

  clear(): void {
    for (const { picture } of this.#known.values()) picture.close();
    this.#known.clear();
    this.#onChange();
  }
}
