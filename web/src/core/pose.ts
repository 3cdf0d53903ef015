// SPDX-License-Identifier: Apache-2.0
// Camera poses: camera to world, OpenCV axes (x right, y down, z forward), metres.

export type Vec3 = readonly [number, number, number];

/** Rows of a 3x4 matrix [R | t], row by row. */
export type Pose = readonly number[];

export const kIdentity: Pose = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

/** From the server's format: x, y, z and the unit quaternion w, x, y, z. */
export function fromWire(wire: readonly number[]): Pose {
  const [px = 0, py = 0, pz = 0, w = 1, x = 0, y = 0, z = 0] = wire;
  return [
    ...[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), px],
    ...[2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), py],
    ...[2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), pz],
  ];
}

export function position(pose: Pose): Vec3 {
  return [pose[3] ?? 0, pose[7] ?? 0, pose[11] ?? 0];
}

/** Axis 0, 1 or 2 of the camera (right, down, forward) in world coordinates. */
export function axis(pose: Pose, column: 0 | 1 | 2): Vec3 {
  return [pose[column] ?? 0, pose[4 + column] ?? 0, pose[8 + column] ?? 0];
}

export function forward(pose: Pose): Vec3 {
  return axis(pose, 2);
}

/** Radians: yaw to the right of the world's z axis, pitch up. */
export function heading(pose: Pose): { yaw: number; pitch: number } {
  const [x, y, z] = forward(pose);
  return { yaw: Math.atan2(x, z), pitch: Math.atan2(-y, Math.hypot(x, z)) };
}

export function distance(a: Pose, b: Pose): number {
  const p = position(a);
  const q = position(b);
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

/** Row-major 4x4 for a scene with y up and cameras that look along -z: F [R | t] F, F = diag(1,-1,-1). */
export function toScene(pose: Pose): number[] {
  const sign = [1, -1, -1];
  const out: number[] = [];
  for (let row = 0; row < 3; row++) {
    for (let column = 0; column < 3; column++)
      out.push((pose[4 * row + column] ?? 0) * (sign[row] ?? 1) * (sign[column] ?? 1));
    out.push((pose[4 * row + 3] ?? 0) * (sign[row] ?? 1));
  }
  return [...out, 0, 0, 0, 1];
}
