// SPDX-License-Identifier: Apache-2.0
// The colours of the style sheet, for drawing on canvases.
import { cssColour } from "../core/dom.js";
import type { Role } from "../session/retained.js";

export interface Palette {
  background: string;
  grid: string;
  path: string;
  camera: string;
  text: string;
  faint: string;
  revisited: string;
  roles: Record<Role, string>;
  lines: [string, string]; // first and second memory
}

export function readPalette(): Palette {
  return {
    background: cssColour("--panel"),
    grid: cssColour("--grid"),
    path: cssColour("--path"),
    camera: cssColour("--text"),
    text: cssColour("--text-2"),
    faint: cssColour("--dot"),
    revisited: cssColour("--revisited"),
    roles: { sink: cssColour("--sink"), bank: cssColour("--bank"), recent: cssColour("--recent") },
    lines: [cssColour("--line-a"), cssColour("--line-b")],
  };
}
