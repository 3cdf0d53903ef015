// SPDX-License-Identifier: Apache-2.0
// The frames that a memory keeps, and which of them to show where it keeps everything.
import type { Pose } from "../core/pose.js";
import type { Role } from "../net/messages.js";

export interface Retained {
  frame: number;
  role: Role;
  pose: Pose;
  seen: boolean; // by the newest chunk
}

/** More frusta than this nobody can tell apart, and phones cannot draw. */
export const kMostShown = 120;

/**
 * At most about `most` of the frames, in order: the first and the recent ones, the one revisited, and of
 * the rest every nth by its number, so that the same ones stay while the walk goes on.
 */
export function thinned(
  retained: readonly Retained[],
  revisited: number | null,
  most = kMostShown,
): readonly Retained[] {
  if (retained.length <= most) return retained;
  const always = (entry: Retained): boolean => entry.role !== "bank" || entry.frame === revisited;
  const kept = retained.filter(always).length;
  let stride = 1;
  while ((retained.length - kept) / stride > Math.max(8, most - kept)) stride *= 2;
  return retained.filter((entry) => always(entry) || entry.frame % stride === 0);
}
