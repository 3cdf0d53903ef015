// SPDX-License-Identifier: Apache-2.0
// The retained frames of a memory. The server lists only a part of a long list.
import { fromWire, type Pose } from "../core/pose.js";
import type { ChunkStatsMessage, Retained as WireRetained } from "../net/protocol.js";

/** Why a frame is retained. */
export type Role = WireRetained["kind"];

export interface Retained {
  frame: number;
  role: Role;
  pose: Pose;
  seen: boolean; // the newest chunk attended to it
}

export function retainedOf(stats: ChunkStatsMessage): Retained[] {
  return stats.retained.map(({ frame, kind, pose, seen }) => ({
    frame,
    role: kind,
    pose: fromWire(pose),
    seen,
  }));
}

/** The number of frames by role. Frames that are not listed belong to the bank. */
export function countRoles(retained: readonly Retained[], total: number): Record<Role, number> {
  const count = (role: Role): number => retained.filter((entry) => entry.role === role).length;
  const [sink, recent] = [count("sink"), count("recent")];
  return { sink, bank: Math.max(0, total - sink - recent), recent };
}
