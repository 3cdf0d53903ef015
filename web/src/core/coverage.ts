// SPDX-License-Identifier: Apache-2.0
// The directions around a position that the retained frames show, for the panorama.
import { axis, position, type Pose, type Vec3 } from "./pose.js";

/** A camera: its pose and the tangents of half its fields of view. */
export interface View {
  pose: Pose;
  tanX: number;
  tanY: number;
}

/** Distance in metres beyond which a frame does not count for the current position. */
export const kNear = 6;

/** Directions at 90 degrees or more are outside every picture. */
const kBehind = 1e-6;

export function makeView(pose: Pose, fovDegrees: number, aspect: number): View {
  const tanX = Math.tan((Math.min(fovDegrees, 175) * Math.PI) / 360);
  return { pose, tanX, tanY: tanX / aspect };
}

/** `count` evenly spread directions (Fibonacci sphere) in world axes: x, y, z of each in turn. */
export function sphereDirections(count: number): Float32Array {
  const out = new Float32Array(3 * count);
  const golden = Math.PI * (3 - Math.sqrt(5));
  for (let n = 0; n < count; n++) {
    const z = 1 - (2 * (n + 0.5)) / count;
    const radius = Math.sqrt(1 - z * z);
    out.set([radius * Math.cos(n * golden), radius * Math.sin(n * golden), z], 3 * n);
  }
  return out;
}

/** Position of a direction in the picture, 0 to 1 from the left and from the top, or null. */
export function project(view: View, direction: Vec3): [number, number] | null {
  const [x, y, z] = direction;
  const right = axis(view.pose, 0);
  const down = axis(view.pose, 1);
  const ahead = axis(view.pose, 2);
  const depth = x * ahead[0] + y * ahead[1] + z * ahead[2];
  if (depth <= kBehind) return null;
  const u = (x * right[0] + y * right[1] + z * right[2]) / depth / view.tanX;
  const v = (x * down[0] + y * down[1] + z * down[2]) / depth / view.tanY;
  return Math.abs(u) <= 1 && Math.abs(v) <= 1 ? [(u + 1) / 2, (v + 1) / 2] : null;
}

export interface Seen {
  /** Index of the last view that shows the direction, or -1. */
  by: Int16Array;
  /** Position in that view's picture: u and v of each direction in turn. */
  at: Float32Array;
  /** Share of the sphere that is shown, 0 to 1. */
  share: number;
}

/** Finds for each direction the view near `here` that shows it; later views win. */
export function seenFrom(here: Vec3, directions: Float32Array, views: readonly View[]): Seen {
  const count = directions.length / 3;
  const by = new Int16Array(count).fill(-1);
  const at = new Float32Array(2 * count);
  views.forEach((view, index) => {
    const place = position(view.pose);
    if (Math.hypot(place[0] - here[0], place[1] - here[1], place[2] - here[2]) >= kNear) return;
    // The same as project(), without allocating: this runs for every frame and direction.
    const [rx, ry, rz] = axis(view.pose, 0);
    const [dx, dy, dz] = axis(view.pose, 1);
    const [ax, ay, az] = axis(view.pose, 2);
    for (let n = 0; n < count; n++) {
      const x = directions[3 * n] ?? 0;
      const y = directions[3 * n + 1] ?? 0;
      const z = directions[3 * n + 2] ?? 0;
      const depth = x * ax + y * ay + z * az;
      if (depth <= kBehind) continue;
      const u = (x * rx + y * ry + z * rz) / (depth * view.tanX);
      const v = (x * dx + y * dy + z * dz) / (depth * view.tanY);
      if (Math.abs(u) > 1 || Math.abs(v) > 1) continue;
      by[n] = index;
      at[2 * n] = (u + 1) / 2;
      at[2 * n + 1] = (v + 1) / 2;
    }
  });
  return {
    by,
    at,
    share: by.reduce((sum, index) => sum + (index >= 0 ? 1 : 0), 0) / Math.max(1, count),
  };
}
