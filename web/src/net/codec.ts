// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes messages.
import { decode, encode } from "@msgpack/msgpack";

import type { FrameBatchMessage, ServerMessage } from "./protocol.js";

export function encodeMessage(message: object): Uint8Array {
  return encode(message, { ignoreUndefined: true });
}

/** The decoded message, or null if the data is not a valid message. */
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

/** The frames of a batch, which are concatenated in its payload; fewer if the payload is too short. */
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
