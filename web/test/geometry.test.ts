// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { kNear, makeView, project, seenFrom, sphereDirections } from "../src/core/coverage.js";
import {
  axis,
  distance,
  forward,
  fromWire,
  heading,
  kIdentity,
  position,
  toScene,
  type Pose,
} from "../src/core/pose.js";
import { WalkedPath } from "../src/session/path.js";

const close = (a: readonly number[], b: readonly number[], message = ""): void =>
  a.forEach((value, i) =>
    assert.ok(Math.abs(value - (b[i] ?? NaN)) < 1e-6, `${message} ${a.join()} ≠ ${b.join()}`),
  );

/** Turned right by `degrees` at x, z. */
function turned(degrees: number, x = 0, z = 0): number[] {
  const half = (degrees * Math.PI) / 360;
  return [x, 0, z, Math.cos(half), 0, Math.sin(half), 0];
}

test("poses are built from position and quaternion", () => {
  close(fromWire([0, 0, 0, 1, 0, 0, 0]), kIdentity);
  const right = fromWire(turned(90, 2, 3));
  close(position(right), [2, 0, 3]);
  close(forward(right), [1, 0, 0], "y is down: a positive turn about it is to the right");
  assert.ok(Math.abs(heading(right).yaw - Math.PI / 2) < 1e-9);
  const up = fromWire([0, 0, 0, Math.cos(0.25), Math.sin(0.25), 0, 0]);
  assert.ok(Math.abs(heading(up).pitch - 0.5) < 1e-9);
  assert.ok(Math.abs(distance(right, up) - Math.hypot(2, 3)) < 1e-9);
});

test("rotations are orthonormal", () => {
  const q = [0.5, -0.5, 0.1, 0.7];
  const length = Math.hypot(...q);
  const pose = fromWire([1, 2, 3, ...q.map((value) => value / length)]);
  const [a, b, c] = [axis(pose, 0), axis(pose, 1), axis(pose, 2)];
  const dot = (u: readonly number[], v: readonly number[]): number =>
    u.reduce((sum, value, i) => sum + value * (v[i] ?? 0), 0);
  close([dot(a, a), dot(b, b), dot(c, c), dot(a, b), dot(b, c), dot(a, c)], [1, 1, 1, 0, 0, 0]);
});

test("scene matrices have y up and cameras that look along -z", () => {
  close(toScene(kIdentity), [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
  const m = toScene(fromWire(turned(90, 1, 2)));
  close([m[3] ?? 0, m[7] ?? 0, m[11] ?? 0], [1, 0, -2], "position");
  // The camera's -z axis is where it looks: the world's +x.
  close([-(m[2] ?? 0), -(m[6] ?? 0), -(m[10] ?? 0)], [1, 0, 0], "direction");
});

test("directions are projected with the lens", () => {
  const view = makeView(kIdentity, 90, 1.5);
  assert.deepEqual(project(view, [0, 0, 1]), [0.5, 0.5]);
  close(project(view, [0.999, 0, 1]) ?? [], [0.9995, 0.5]);
  assert.equal(project(view, [1.01, 0, 1]), null, "beyond 45 degrees");
  assert.equal(project(view, [0, 0.7, 1]), null, "the picture is less high than wide");
  assert.ok((project(view, [0, 0.6, 1])?.[1] ?? 0) > 0.9, "y is down");
  assert.equal(project(view, [0, 0, -1]), null, "behind");
});

test("the share of the sphere equals the solid angle of the frame", () => {
  const directions = sphereDirections(4096);
  const pose: Pose = kIdentity;
  const view = makeView(pose, 90, 1);
  const { share, by } = seenFrom([0, 0, 0], directions, [view]);
  assert.ok(Math.abs(share - 1 / 6) < 0.005, `a face of a cube: ${share}`);
  assert.equal(by.filter((index) => index === 0).length, Math.round(share * 4096));
  const all = [0, 90, 180, 270].map((angle) => makeView(fromWire(turned(angle)), 90, 1));
  assert.ok(Math.abs(seenFrom([0, 0, 0], directions, all).share - 4 / 6) < 0.01);
});

test("coverage agrees with the projection of single directions", () => {
  const directions = sphereDirections(700);
  const view = makeView(fromWire(turned(37, 1, 2)), 75, 1.5);
  const { by, at } = seenFrom([1, 0, 2], directions, [view]);
  for (let n = 0; n < 700; n++) {
    const [x = 0, y = 0, z = 0] = directions.subarray(3 * n, 3 * n + 3);
    const spot = project(view, [x, y, z]);
    assert.equal(by[n], spot ? 0 : -1);
    if (spot) close([...at.subarray(2 * n, 2 * n + 2)], spot);
  }
});

test("distant frames do not count, later frames cover earlier ones", () => {
  const directions = sphereDirections(512);
  const here = makeView(kIdentity, 90, 1.5);
  const far = makeView(fromWire(turned(0, 0, kNear + 0.1)), 90, 1.5);
  assert.equal(seenFrom([0, 0, 0], directions, [far]).share, 0);
  const seen = seenFrom([0, 0, 0], directions, [here, here]);
  assert.ok(seen.by.every((index) => index === -1 || index === 1));
});

test("a path grows, is corrected, and drops its oldest poses", () => {
  const path = new WalkedPath();
  path.reset(0, [turned(0)]);
  path.extend(1, [turned(0, 0, 1), turned(0, 0, 2)]);
  assert.equal(path.end, 3);
  assert.ok(Math.abs(path.length - 2) < 1e-9);
  path.extend(2, [turned(0, 1, 1)]);
  assert.equal(path.end, 3, "the same latent again replaces it");
  close(position(path.last ?? []), [1, 0, 1]);
  path.extend(50, [turned(0, 9, 9)]);
  assert.equal(path.poses.length, 1, "after a gap it starts anew");
  for (let i = 51; i < 9000; i++) path.extend(i, [turned(0, 0, i)]);
  assert.equal(path.poses.length, 8192);
  assert.equal(path.end, 9000);
});
