// SPDX-License-Identifier: Apache-2.0
// What the keys do and what the colours mean.
import { h } from "../core/dom.js";
import { openDialog } from "./dialog.js";

const kKeys: [string[], string][] = [
  [["W", "S"], "walk ahead and back"],
  [["A", "D"], "step left and right"],
  [["←", "→"], "turn (also J, L)"],
  [["↑", "↓"], "look up and down (also I, K)"],
  [["drag"], "look around, with mouse or finger"],
  [["gamepad"], "left stick walks, right stick looks"],
  [["Space"], "pause, go on"],
  [["R"], "start and stop recording"],
  [["F"], "full screen"],
  [["M"], "light or dark colours"],
  [["?"], "this help"],
];

const kColours: [string, string][] = [
  ["sink", "the first frame, always kept"],
  ["bank", "frames kept because they look where no other looks"],
  ["recent", "the newest frames"],
  ["revisited", "the kept frame that shows most of what you see now"],
];

export function openHelp(): void {
  const { body } = openDialog("Keys and colours", "help");
  body.append(
    h(
      "dl",
      { class: "key-list" },
      ...kKeys.flatMap(([keys, text]) => [
        h("dt", {}, ...keys.map((key) => h("kbd", {}, key))),
        h("dd", {}, text),
      ]),
    ),
    h("h3", {}, "Frames in the map"),
    h(
      "ul",
      { class: "colours" },
      ...kColours.map(([role, text]) => h("li", {}, h("span", { class: `key ${role}` }, ""), text)),
    ),
    h(
      "p",
      { class: "hint" },
      "Controls act from the next chunk on, which is a second or so of video. Drag the map to turn it, scroll to zoom; drag the panorama to look behind you.",
    ),
    h(
      "p",
      { class: "hint" },
      h(
        "a",
        { href: "/licenses.txt", target: "_blank", rel: "noopener" },
        "Licences of what this page is made of",
      ),
    ),
  );
}
