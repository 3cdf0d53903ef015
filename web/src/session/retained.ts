// SPDX-License-Identifier: Apache-2.0
// The frames that a memory keeps, and which of them to show where it keeps everything.
import { makeView, mostOverlapping, sphereDirections } from "../core/coverage.js";
import type { Pose } from "../core/pose.js";
import type { Role } from "../net/messages.js";
import type { WalkedPath } from "./path.js";

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

const kRecent = 8;
const kDirections = sphereDirections(1024);

/** Every frame of the path: what a memory without limit holds, whatever the server lists of it. */
export function everything(path: WalkedPath): Retained[] {
  const first = path.end - path.poses.length;
  return path.poses.map((pose, i) => {
    const frame = first + i;
    const role: Role = frame === 0 ? "sink" : frame >= path.end - kRecent ? "recent" : "bank";
    return { frame, role, pose, seen: true };
  });
}

/** The frame, of those that are not recent, that shows most of what is seen now. */
export function revisit(
  pose: Pose,
  retained: readonly Retained[],
  fov: number,
  aspect: number,
): { frame: number; overlap: number } | null {
  const old = thinned(retained, null).filter(({ role }) => role !== "recent");
  const views = old.map((entry) => makeView(entry.pose, fov, aspect));
  const best = mostOverlapping(makeView(pose, fov, aspect), views, kDirections);
  const frame = best && old[best.index]?.frame;
  return best && frame !== null && frame !== undefined ? { frame, overlap: best.overlap } : null;
}
