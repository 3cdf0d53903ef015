// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { Store } from "../src/core/store.js";
import { ago, bytes, seconds } from "../src/ui/names.js";
import { fitWithin } from "../src/ui/upload.js";
import { Series } from "../src/views/series.js";

test("a store calls the listeners of changed keys only", () => {
  const store = new Store({ a: 1, b: 2 });
  const heard: string[] = [];
  const stop = store.watch(["a"], ({ a }) => heard.push(`a${a}`));
  store.watch([], ({ a, b }) => heard.push(`${a},${b}`));
  store.set({ b: 3 });
  store.set({ b: 3 });
  store.set({ a: 5 });
  stop();
  store.set({ a: 6 });
  assert.deepEqual(heard, ["a1", "1,2", "1,3", "a5", "5,3", "6,3"]);
});

test("series of two memories share their x axis and stay bounded", () => {
  const series = new Series(2, 4);
  series.add(0, 1, 10);
  series.add(1, 1, 20);
  series.add(0, 3, 30);
  series.add(1, 2, 25);
  assert.deepEqual(series.columns, [
    [1, 2, 3],
    [10, null, 30],
    [20, 25, null],
  ]);
  assert.deepEqual([series.last(0), series.last(1)], [30, 25]);
  for (let x = 4; x < 100; x++) series.add(0, x, x);
  assert.equal(series.length, 4);
  assert.deepEqual(series.columns[0], [96, 97, 98, 99]);
  series.add(0, 100, NaN);
  assert.equal(series.last(0), 99);
  series.clear();
  assert.deepEqual([series.length, series.last(0)], [0, null]);
});

test("numbers are formatted for display", () => {
  assert.deepEqual([0.5, 9.96, 42.4, 60, 119.6, 3601].map(seconds), [
    "0.5 s",
    "10.0 s",
    "42 s",
    "1 min 00 s",
    "2 min 00 s",
    "60 min 01 s",
  ]);
  assert.deepEqual([12, 1200, 15_400_000, 2.5e9].map(bytes), ["12 B", "1.2 KB", "15 MB", "2.5 GB"]);
  const now = 1_700_000_000;
  assert.deepEqual(
    [5, 70, 7200, 3 * 86400].map((passed) => ago(now - passed, now)),
    ["just now", "1 minute ago", "2 hours ago", "3 days ago"],
  );
  assert.match(ago(now - 40 * 86400, now), /2023/);
});

test("pictures are scaled down and keep their aspect ratio", () => {
  assert.deepEqual(fitWithin(4000, 3000), [1280, 960]);
  assert.deepEqual(fitWithin(640, 480), [640, 480]);
  assert.deepEqual(fitWithin(10000, 1), [1280, 1]);
});
