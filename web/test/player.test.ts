// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { Pacer } from "../src/player/pacer.js";
import { LatencyMeter } from "../src/session/latency.js";

/** Shows due frames on a screen of 60 Hz; returns the times at which they appeared. */
function play(pacer: Pacer<number>, from: number, to: number): { frame: number; at: number }[] {
  const shown: { frame: number; at: number }[] = [];
  for (let now = from; now < to; now += 1000 / 60) {
    const frame = pacer.next(now);
    if (frame !== undefined) shown.push({ frame, at: now });
  }
  return shown;
}

test("a burst is spread over the time until the next one", () => {
  const pacer = new Pacer<number>({ fps: 16, capacity: 100 });
  const shown: { frame: number; at: number }[] = [];
  // A chunk of 20 frames every 2.5 s: 8 frames per second, half the frame rate of the video.
  for (let chunk = 0; chunk < 12; chunk++) {
    pacer.arrive(20, chunk * 2500);
    for (let i = 0; i < 20; i++) pacer.push(20 * chunk + i);
    shown.push(...play(pacer, chunk * 2500, (chunk + 1) * 2500));
  }
  assert.deepEqual(
    shown.map(({ frame }) => frame),
    [...shown.keys()],
    "in order, none twice",
  );
  const late = shown.filter(({ at }) => at > 17500);
  const gaps = late.slice(1).map(({ at }, i) => at - (late[i]?.at ?? 0));
  assert.ok(Math.max(...gaps) < 250, `no long gap: ${Math.max(...gaps)}`);
  assert.ok(Math.abs(pacer.fps - 8) < 0.5, `rate ${pacer.fps}`);
  assert.equal(pacer.dropped, 0);
});

test("single frames are shown soon and evenly, and do not accumulate", () => {
  const pacer = new Pacer<number>({ fps: 16, capacity: 80 });
  const came: number[] = [];
  const delays: number[] = [];
  let frame = 0;
  let seed = 1;
  const random = (): number => (seed = (seed * 16807) % 2147483647) / 2147483647;
  // 8 frames per second on average, each up to 60 ms early or late; then twice as fast.
  let at = 0;
  for (let now = 0; now < 60_000; now += 1000 / 60) {
    while (at <= now) {
      pacer.arrive(1, now);
      came.push(now);
      pacer.push(frame++);
      at += (now > 20_000 && now < 30_000 ? 62.5 : 125) + 120 * (random() - 0.5);
    }
    const shown = pacer.next(now);
    if (shown !== undefined && now > 10_000) delays.push(now - (came[shown] ?? 0));
  }
  delays.sort((a, b) => a - b);
  const most = delays[Math.floor(0.99 * delays.length)] ?? Infinity;
  assert.ok(most < 500, `99 of 100 frames wait less than half a second: ${most}`);
  assert.ok(pacer.waiting <= 4, `${pacer.waiting} wait`);
  assert.ok(Math.abs(pacer.fps - 8) < 1.5, `rate ${pacer.fps}`);
});

test("frames are never shown faster than the frame rate of the video", () => {
  const pacer = new Pacer<number>({ fps: 16, capacity: 100 });
  let count = 0;
  for (let chunk = 0; chunk < 8; chunk++) {
    pacer.arrive(20, chunk * 1250);
    for (let i = 0; i < 20; i++) pacer.push(i);
    count += play(pacer, chunk * 1250, (chunk + 1) * 1250).length;
  }
  assert.ok(pacer.fps <= 16 + 1e-9);
  assert.ok(count >= 150, `${count} of 160 frames shown in ten seconds`);
});

test("a screen with a low refresh rate skips frames and stays current", () => {
  const pacer = new Pacer<number>({ fps: 16, capacity: 80 });
  const delays: number[] = [];
  // 16 frames per second arrive one by one; the screen refreshes five times per second.
  for (let frame = 0; frame < 16 * 60; frame++) {
    const now = frame * 62.5;
    pacer.arrive(1, now);
    pacer.push(frame);
    if (frame % 3 !== 0) continue;
    const shown = pacer.next(now);
    if (shown !== undefined) delays.push(now - shown * 62.5);
  }
  assert.ok(delays.length > 300, `${delays.length} frames shown`);
  assert.ok(Math.max(...delays) < 700, `largest delay: ${Math.max(...delays)}`);
});

test("a slow screen drops old frames and stays current", () => {
  const dropped: number[] = [];
  const pacer = new Pacer<number>({
    fps: 16,
    capacity: 40,
    onDrop: (frame) => dropped.push(frame),
  });
  for (let i = 0; i < 100; i++) pacer.push(i);
  assert.equal(pacer.waiting, 40);
  assert.equal(pacer.dropped, 60);
  assert.deepEqual(dropped.slice(0, 3), [0, 1, 2]);
  assert.equal(pacer.next(0), 60);
});

test("a pause does not change the rate", () => {
  const pacer = new Pacer<number>({ fps: 16, capacity: 40 });
  pacer.arrive(20, 0);
  for (let i = 0; i < 20; i++) pacer.push(i);
  play(pacer, 0, 2000);
  pacer.arrive(20, 600_000);
  assert.ok(pacer.fps > 15);
});

test("waiting frames are returned when the world changes", () => {
  const pacer = new Pacer<number>({ fps: 16, capacity: 40 });
  pacer.push(1);
  pacer.push(2);
  assert.deepEqual(pacer.clear(), [1, 2]);
  assert.equal(pacer.waiting, 0);
});

test("latency counts from the oldest control that a frame applied", () => {
  const meter = new LatencyMeter();
  meter.sent(1, 100);
  meter.sent(2, 150);
  meter.sent(3, 900);
  assert.equal(meter.shown(null, 1000), null);
  assert.equal(meter.shown(2, 1000), 900);
  assert.equal(meter.shown(2, 1010), null, "once per control");
  assert.equal(meter.shown(3, 1500), 600);
  for (let id = 10; id < 2000; id++) meter.sent(id, id);
  assert.equal(meter.shown(5000, 5000), 5000 - (2000 - 256), "unanswered ones do not accumulate");
});
