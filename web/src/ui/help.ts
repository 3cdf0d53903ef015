// SPDX-License-Identifier: Apache-2.0
// The help dialog: keys and colours.
import { h } from "../core/dom.js";
import { openDialog } from "./dialog.js";

const kKeys: [string[], string][] = [
  [["W", "S"], "walk forward and back"],
  [["A", "D"], "step left and right"],
  [["←", "→"], "turn (also J, L)"],
  [["↑", "↓"], "look up and down (also I, K)"],
  [["drag"], "look around, with mouse or finger"],
  [["gamepad"], "left stick walks, right stick looks"],
  [["Space"], "pause or resume"],
  [["R"], "start and stop recording"],
  [["F"], "full screen"],
  [["M"], "light or dark colours"],
  [["?"], "this help"],
];

const kColours: [string, string][] = [
  ["sink", "the first frame, always retained"],
  ["bank", "frames retained because they show directions that no other frame shows"],
  ["recent", "the newest frames"],
  ["revisited", "the retained frame that shows most of the current view"],
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
      "Controls take effect with the next chunk, after about one second of video. Drag the map to rotate it and scroll to zoom. Drag the panorama to look behind you.",
    ),
    h(
      "p",
      { class: "hint" },
      h(
        "a",
        { href: "/licenses.txt", target: "_blank", rel: "noopener" },
        "Licences of the libraries in this page",
      ),
    ),
  );
}
