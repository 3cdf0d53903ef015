// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { combine, quantise, stick, withDeadZone } from "../src/input/axes.js";
import { padAxes } from "../src/input/gamepad.js";
import { Keyboard } from "../src/input/keyboard.js";
import { ControlSender } from "../src/input/sender.js";

const still = { forward: 0, right: 0, yaw: 0, pitch: 0 };

test("keys act by position, once each, until the window loses focus", () => {
  const keyboard = new Keyboard();
  keyboard.press("KeyD");
  keyboard.press("KeyW");
  keyboard.press("ArrowLeft");
  keyboard.press("KeyJ"); // also turns left
  keyboard.press("KeyX");
  assert.deepEqual(keyboard.actions, ["w", "d", "left"]);
  keyboard.release("ArrowLeft");
  assert.deepEqual(keyboard.actions, ["w", "d", "left"], "J is still held");
  keyboard.release("KeyJ");
  assert.deepEqual(keyboard.actions, ["w", "d"]);
  keyboard.releaseAll();
  assert.deepEqual(keyboard.actions, []);
  assert.ok(!Keyboard.walks("toString"), "names of methods are not keys");
});

test("devices add up within -1 and 1", () => {
  const sum = combine([
    { ...still, forward: 0.8, yaw: -0.5 },
    { ...still, forward: 0.7, yaw: 0.5 },
  ]);
  assert.deepEqual(sum, { ...still, forward: 1 });
  assert.ok(Object.is(combine([{ ...still, pitch: -0 }]).pitch, 0));
});

test("sticks have a dead zone and reach 1 at the rim", () => {
  assert.equal(withDeadZone(0.1), 0);
  assert.equal(withDeadZone(-0.15), 0);
  assert.equal(withDeadZone(1), 1);
  assert.equal(withDeadZone(-3), -1);
  assert.ok(withDeadZone(0.2) > 0 && withDeadZone(0.2) < 0.1, "no jump at the edge of the zone");
  assert.deepEqual(stick(0, -500, 50), { x: 0, y: 1 });
  const diagonal = stick(100, 100, 50);
  assert.ok(Math.abs(Math.hypot(diagonal.x, diagonal.y) - 1) < 0.1, "a diagonal is not faster");
});

test("a gamepad walks with left stick or cross and looks with the right stick", () => {
  const buttons = Array.from({ length: 16 }, () => ({ pressed: false }));
  assert.deepEqual(padAxes(null), still);
  assert.deepEqual(padAxes({ axes: [0, -1, 1, 1], buttons }), {
    forward: 1,
    right: 0,
    yaw: 1,
    pitch: -1,
  });
  buttons[13] = { pressed: true };
  buttons[15] = { pressed: true };
  assert.deepEqual(padAxes({ axes: [0.05, 0, 0, 0], buttons }), {
    forward: -1,
    right: 1,
    yaw: 0,
    pitch: 0,
  });
});

test("only changes are sent", () => {
  const sender = new ControlSender();
  assert.equal(sender.take(0, [], still), null);
  assert.deepEqual(sender.take(10, ["w"], still), { client_ts_ms: 10, actions: ["w"] });
  assert.equal(sender.take(20, ["w"], still), null);
  assert.equal(sender.take(25, ["w"], { ...still, yaw: 0.01 }), null, "jitter of a stick");
  assert.deepEqual(sender.take(30, ["w"], { ...still, yaw: 0.501 }), {
    client_ts_ms: 30,
    axes: quantise({ ...still, yaw: 0.5 }),
  });
  assert.deepEqual(sender.take(40, [], still), { client_ts_ms: 40, actions: [], axes: still });
});

test("looks are collected and none is lost", () => {
  const sender = new ControlSender();
  sender.look(1, 0.5);
  assert.deepEqual(sender.take(100, [], still)?.look, [1, 0.5], "the first at once");
  sender.look(1, 0);
  assert.equal(sender.take(110, [], still), null);
  sender.look(2, -1);
  assert.deepEqual(sender.take(170, [], still)?.look, [3, -1]);
  sender.look(0.25, 0);
  assert.deepEqual(sender.take(171, ["w"], still), {
    client_ts_ms: 171,
    actions: ["w"],
    look: [0.25, 0],
  });
});

test("a new connection gets everything that is held", () => {
  const sender = new ControlSender();
  sender.take(0, ["w"], still);
  sender.reset();
  assert.deepEqual(sender.take(1, ["w"], still)?.actions, ["w"]);
});
