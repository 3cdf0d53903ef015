// SPDX-License-Identifier: Apache-2.0
// A user's session in a real browser against a real server. The tests wait for elements to appear,
// with generous limits; nothing depends on the speed of the model.
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, beforeEach, afterEach, test } from "node:test";

import { chromium } from "playwright-core";

import { Server } from "./server.mjs";

const { LOCI_E2E_BROWSER, LOCI_E2E_PROGRAM, LOCI_E2E_MODEL, LOCI_E2E_TWIN, LOCI_E2E_SHOTS } =
  process.env;
const kPatience = 60_000;
let server;
let browser;
let context;
let page;
let reports;
let axeSource;

before(async () => {
  axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  server = await Server.create(LOCI_E2E_PROGRAM, [LOCI_E2E_MODEL, LOCI_E2E_TWIN]);
  await server.start();
  browser = await chromium.launch({ executablePath: LOCI_E2E_BROWSER, args: ["--no-sandbox"] });
  if (LOCI_E2E_SHOTS) await mkdir(LOCI_E2E_SHOTS, { recursive: true });
});

after(async () => {
  await browser?.close();
  await server?.remove();
});

async function visit({ prepare, ...options } = {}) {
  context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  if (prepare) await context.addInitScript(prepare);
  page = await context.newPage();
  page.setDefaultTimeout(kPatience);
  reports = [];
  page.on("pageerror", (error) => reports.push(error.message));
  page.on("console", (message) => {
    // Software rendering warns about reading pixels back.
    if (
      message.type() === "error" ||
      (message.type() === "warning" && !message.text().includes("GL Driver Message"))
    )
      reports.push(message.text());
  });
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (!["blob:", "data:"].includes(protocol) && host !== new URL(server.url).host)
      reports.push(`asked ${request.url()}`);
  });
  await page.goto(server.url);
  await page.waitForSelector(".place.chosen");
}

beforeEach(() => visit());
afterEach(async () => {
  await context.close();
  assert.deepEqual(reports, [], "the browser reports no errors or warnings");
});

const shot = (name) =>
  LOCI_E2E_SHOTS && page.screenshot({ path: join(LOCI_E2E_SHOTS, `${name}.png`) });
const startWalking = () => page.getByRole("button", { name: "Start walking" }).click();
const live = () => page.locator(".status", { hasText: /^Live/ }).waitFor();
const hold = async (keys, ms) => {
  for (const key of keys) await page.keyboard.down(key);
  await page.waitForTimeout(ms);
  for (const key of keys) await page.keyboard.up(key);
};
/** A checksum of the picture. */
const fingerprint = (view = 0) =>
  page.locator(`.pane[data-view="${view}"] .picture`).evaluate((canvas) => {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const pen = copy.getContext("2d", { willReadFrequently: true });
    pen.drawImage(canvas, 0, 0);
    const { data } = pen.getImageData(0, 0, copy.width, copy.height);
    return data.reduce((sum, value, i) => (sum * 31 + value * ((i % 7) + 1)) % 2147483647, 7);
  });
const facts = async () => {
  const text = await page.locator(".facts").textContent();
  const [, metres] = /([\d.]+) m /.exec(text) ?? /([\d.]+) m$/.exec(text) ?? [];
  const [, frames] = /(\d+)[^·]* frames in memory/.exec(text) ?? [];
  return { text, metres: Number(metres), frames: Number(frames) };
};
/** Checks accessibility (names, roles, contrast) with axe-core. */
async function accessible() {
  const violations = await page.evaluate(`${axeSource};
    axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map((node) => node.html).join(" ")))`);
  assert.deepEqual(violations, []);
}
async function until(what, check) {
  const end = Date.now() + kPatience;
  for (;;) {
    const value = await check();
    if (value) return value;
    assert.ok(Date.now() < end, `timed out: ${what}`);
    await page.waitForTimeout(100);
  }
}

test("loads from its own server, quickly, and is accessible", async () => {
  const timing = await page.evaluate(() => {
    const [entry] = performance.getEntriesByType("navigation");
    const files = performance
      .getEntriesByType("resource")
      .filter(({ name }) => !name.includes("/v1/"));
    return {
      ready: Math.round(entry.domContentLoadedEventEnd),
      bytes: files.reduce((sum, { transferSize }) => sum + transferSize, entry.transferSize),
    };
  });
  console.log(
    `  page: ready after ${timing.ready} ms, ${(timing.bytes / 1024).toFixed(0)} KiB sent`,
  );
  await accessible();
  await shot("start-light");
});

test("walks for ten seconds and revisits a place", async () => {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.locator(".place:not(.drop)").nth(1).click();
  await startWalking();
  await live();
  const first = await fingerprint();
  await hold(["KeyW"], 10_000);
  await until("metres walked", async () => (await facts()).metres > 1);
  assert.notEqual(await fingerprint(), first, "the picture changes");
  await shot("walk-dark");
  await hold(["ArrowLeft"], 12_000);
  await page.locator(".recall:visible").waitFor();
  await page.locator(".legend .revisited").waitFor();
  assert.match(await page.locator(".recall").textContent(), /Seen before/);
  for (const measure of ["frame", "latency", "memory", "retention", "norm"]) {
    const number = page.locator(`.plot[data-measure="${measure}"] .plot-number`);
    await until(`a number for ${measure}`, async () => /\d/.test(await number.textContent()));
  }
  assert.match(await page.locator(".panel-number").textContent(), /\d+ %/);
  await accessible();
  await shot("turned-back-dark");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys and colours" }).waitFor();
  await shot("help-dark");
});

test("shows a tour to the model until the user takes a step", async () => {
  await page.locator('.place[data-start="town-1"]').click();
  await page.getByRole("switch", { name: /Show this place to the model first/ }).check();
  await startWalking();
  await page.locator(".tour:visible").waitFor();
  await until("more than the first frame", async () => (await facts()).frames > 1);
  await shot("tour-dark");
  await hold(["KeyW"], 1500);
  await page.locator(".tour").waitFor({ state: "hidden" });
  await live();
});

test("saves, reloads and continues; a saved world does not change", async () => {
  await startWalking();
  await live();
  await hold(["KeyW"], 3000);
  await until("metres walked", async () => (await facts()).metres > 0.5);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("textbox", { name: "Name of the world" }).fill("Harbour");
  await page.keyboard.press("Enter");
  await page.locator(".toast", { hasText: "Saved as “Harbour”" }).waitFor();
  const before = await facts();
  const world = new URL(page.url()).hash;
  await page.reload();
  await live();
  assert.equal(new URL(page.url()).hash, world, "the same world");
  assert.ok((await facts()).metres >= before.metres, "with its past");
  await until("frames in memory", async () => (await facts()).frames > 0);
  await shot("resumed");

  await page.getByRole("button", { name: "Worlds" }).click();
  const row = page.locator(".world-list li", { hasText: "Harbour" });
  await row.waitFor();
  await shot("worlds");
  await row.getByRole("button", { name: "Continue" }).click();
  await until("a copy", async () => new URL(page.url()).hash !== world);
  await live();
  await page.getByRole("button", { name: "Fork" }).click();
  await page.getByRole("textbox", { name: "Name of the copy" }).fill("Harbour by night");
  await page.keyboard.press("Enter");
  await page.locator(".world-name", { hasText: "Harbour by night" }).waitFor();
});

test("compares two memories on the same controls", async () => {
  await page.getByRole("switch", { name: /Split view/ }).check();
  const [own, other] = await Promise.all(
    ["Model", "Second model"].map((name) =>
      page.getByRole("combobox", { name, exact: true }).inputValue(),
    ),
  );
  assert.notEqual(own, other, "the other model is offered");
  assert.equal(await page.getByRole("combobox", { name: "Second memory" }).inputValue(), "dense");
  await shot("start-split-light");
  await startWalking();
  await live();
  const before = [await fingerprint(0), await fingerprint(1)];
  await hold(["KeyW"], 4000);
  await until(
    "both pictures change",
    async () => (await fingerprint(0)) !== before[0] && (await fingerprint(1)) !== before[1],
  );
  const second = page.locator(".which button").nth(1);
  assert.equal(await second.textContent(), other, "memories are named by their models");
  assert.equal(await second.getAttribute("aria-pressed"), "false");
  await second.click();
  await until("both memories measured", async () =>
    /·/.test(await page.locator('.plot[data-measure="memory"] .plot-number').textContent()),
  );
  await accessible();
  await shot("split-light");
});

test("opens a second memory in the middle of a walk, and closes it", async () => {
  await startWalking();
  await live();
  await hold(["KeyW"], 4000);
  await until("metres walked", async () => (await facts()).metres > 1);
  const before = await facts();
  const world = new URL(page.url()).hash;
  await page.getByRole("button", { name: "Split view" }).click();
  await page.locator('.pane[data-view="1"]').waitFor();
  await page.locator(".toast", { hasText: "Both memories know" }).waitFor();
  await live();
  assert.equal(new URL(page.url()).hash, world, "the same world");
  assert.ok((await facts()).metres >= before.metres, "where it was");
  const pictures = [await fingerprint(0), await fingerprint(1)];
  await hold(["ArrowRight"], 2000);
  await until(
    "both pictures change",
    async () => (await fingerprint(0)) !== pictures[0] && (await fingerprint(1)) !== pictures[1],
  );
  const frames = (await facts()).text.match(/(\d+) · (\d+) frames/);
  assert.ok(frames && Number(frames[2]) > 20, "the second one has the frames of the past");
  await shot("split-joined-light");
  await page.reload();
  await live();
  await page.locator('.pane[data-view="1"]').waitFor();
  await page.getByRole("button", { name: "Split view" }).click();
  await page.locator('.pane[data-view="1"]').waitFor({ state: "detached" });
  await live();
  assert.ok((await facts()).metres >= before.metres);
});

test("walks with a gamepad and along the example path of a start", async () => {
  await context.close();
  await visit({
    prepare: () => {
      const pad = { connected: true, axes: [0, 0, 0, 0], buttons: [] };
      globalThis.fakePad = pad;
      navigator.getGamepads = () => [null, pad];
    },
  });
  await page.locator(".place", { hasText: "old town" }).click();
  await startWalking();
  await live();
  await page.evaluate(() => (globalThis.fakePad.axes = [0, -1, 0, 0]));
  await page.locator(".cap-w.held").waitFor();
  await until("metres walked", async () => (await facts()).metres > 0.5);
  await page.evaluate(() => (globalThis.fakePad.axes = [0, 0, 0.9, 0]));
  await page.locator(".cap-right.held").waitFor();
  await page.evaluate(() => (globalThis.fakePad.axes = [0.05, 0.05, 0, 0]));
  await page.locator(".cap.held").first().waitFor({ state: "detached" });
  const before = (await facts()).metres;
  await page.getByRole("button", { name: "Follow the example path" }).click();
  await until("metres by itself", async () => (await facts()).metres > before + 1);
  await shot("path-light");
});

test("changes memory, steps and prompt while walking", async () => {
  await startWalking();
  await live();
  await page.getByRole("combobox", { name: "History policy" }).selectOption("window");
  await page.getByRole("button", { name: "More: Denoising steps" }).click();
  await page.getByRole("combobox", { name: /recurrent state/ }).selectOption("off");
  await page.getByRole("button", { name: "Reset memory" }).click();
  await hold(["KeyD"], 2000);
  assert.equal(await page.getByRole("combobox", { name: "History policy" }).inputValue(), "window");
  assert.equal(await page.locator(".toast.error").count(), 0);
});

test("records an MP4", async () => {
  await startWalking();
  await live();
  await page.getByRole("button", { name: "Record" }).click();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await hold(["KeyW"], 3000);
  await page.getByRole("button", { name: "Stop" }).click();
  const link = page.getByRole("link", { name: "Download MP4" });
  await link.waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
  const bytes = await readFile(await download.path());
  assert.equal(bytes.subarray(4, 8).toString(), "ftyp");
});

test("starts from a picture of the user", async () => {
  const picture = await page.evaluate(async () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [300, 200];
    const pen = canvas.getContext("2d");
    pen.fillStyle = "#3366cc";
    pen.fillRect(0, 0, 300, 120);
    pen.fillStyle = "#44aa55";
    pen.fillRect(0, 120, 300, 80);
    return canvas.toDataURL("image/png").split(",")[1];
  });
  await page.locator("input[type=file]").setInputFiles({
    name: "field.png",
    mimeType: "image/png",
    buffer: Buffer.from(picture, "base64"),
  });
  await page.locator(".place.drop.chosen img").waitFor();
  await startWalking();
  await live();
  await page.locator(".veil").waitFor({ state: "hidden" });
});

test("reconnects when the server returns, and loses nothing", async () => {
  await startWalking();
  await live();
  await hold(["KeyW"], 3000);
  await until("metres walked", async () => (await facts()).metres > 0.5);
  const before = await facts();
  await server.kill();
  await page.getByRole("heading", { name: "Connection lost" }).waitFor();
  await shot("lost");
  reports = []; // the browser reports the failed socket, as expected
  await server.start();
  await live();
  assert.ok((await facts()).metres >= before.metres);
  await hold(["KeyW"], 2000);
  await until("more metres", async () => (await facts()).metres > before.metres);
  reports = reports.filter((text) => !text.includes("WebSocket connection"));
});

test("shows the tour on a phone without covering the return card or the sticks", async () => {
  await context.close();
  await visit({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.locator('.place[data-start="town-1"]').click();
  await startWalking();
  await page.locator(".tour:visible").waitFor();
  // The tour turns once around, so the views at its end were seen before.
  await page.locator(".recall:visible").waitFor();
  for (const size of [
    { width: 390, height: 844 },
    { width: 844, height: 390 },
  ]) {
    await page.setViewportSize(size);
    await shot(`phone-tour-${size.width}`);
    const covered = await page.evaluate(() => {
      const box = (element) => element.getBoundingClientRect();
      const tour = box(document.querySelector(".tour"));
      const others = [...document.querySelectorAll(".recall:not([hidden]), .stick")];
      return others
        .filter((other) => {
          const { left, right, top, bottom } = box(other);
          return left < tour.right && right > tour.left && top < tour.bottom && bottom > tour.top;
        })
        .map((other) => other.className);
    });
    assert.deepEqual(covered, [], `covered at ${size.width}x${size.height}`);
  }
});

test("fits a phone, with sticks", async () => {
  await context.close();
  await visit({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
    deviceScaleFactor: 2,
    colorScheme: "dark",
  });
  await shot("phone-start-dark");
  await startWalking();
  await live();
  const stick = page.getByRole("img", { name: "Walk: drag" });
  const box = await stick.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + 4);
  await until("metres walked", async () => (await facts()).metres > 0.3);
  await page.mouse.up();
  for (const tab of ["Panorama", "Measures", "Map"]) {
    await page.getByRole("tab", { name: tab }).click();
    await page.locator(`[data-panel="${tab.toLowerCase()}"]`).waitFor();
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `no horizontal overflow: ${overflow}`);
  await accessible();
  await shot("phone-walk-dark");
  await page.setViewportSize({ width: 844, height: 390 });
  await page.locator(".pane").waitFor();
  await stick.waitFor();
  const wide = await page.evaluate(() => [
    document.documentElement.scrollWidth - innerWidth,
    document.documentElement.scrollHeight - innerHeight,
  ]);
  assert.ok(
    wide.every((more) => more <= 0),
    `no horizontal overflow: ${wide.join()}`,
  );
  await shot("phone-wide-dark");
  await page.getByRole("button", { name: "Split view" }).click();
  await page.locator('.pane[data-view="1"]').waitFor();
  await live();
  await shot("phone-wide-split-dark");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "light" });
  await shot("phone-split-light");
});
