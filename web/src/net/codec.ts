// SPDX-License-Identifier: Apache-2.0
// Messages to bytes and back.
import { decode, encode } from "@msgpack/msgpack";

import type { FrameBatchMessage, ServerMessage } from "./protocol.js";

export function encodeMessage(message: object): Uint8Array {
  return encode(message, { ignoreUndefined: true });
}

/** The message in a WebSocket message, or null if it is none: the page then ignores it. */
export function decodeMessage(data: ArrayBuffer | string): ServerMessage | null {
  try {
    const value: unknown =
      typeof data === "string" ? JSON.parse(data) : decode(new Uint8Array(data));
    if (typeof value !== "object" || value === null) return null;
    return typeof (value as { type?: unknown }).type === "string" ? (value as ServerMessage) : null;
  } catch {
    return null;
  }
}

/** The frames of a batch, one behind the other in its payload; fewer if lengths and payload disagree. */
export function splitFrames(batch: FrameBatchMessage): Uint8Array<ArrayBuffer>[] {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  for (const length of batch.payload_lengths) {
    if (length <= 0 || at + length > batch.payload.length) break;
    frames.push(batch.payload.subarray(at, at + length));
    at += length;
  }
  return frames;
}
