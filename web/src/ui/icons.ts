// SPDX-License-Identifier: Apache-2.0
// Icons: strokes on a grid of 24 by 24 units.

const kPaths = {
  pause: "M9 5v14M15 5v14",
  play: "M8 5.2v13.6L19 12z",
  split: "M4 5h16v14H4zM12 5v14",
  record: "M12 12m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0",
  stop: "M7.5 7.5h9v9h-9z",
  save: "M12 4v11M7.5 11l4.5 4.5L16.5 11M5 19.5h14",
  worlds:
    "M12 12m-8 0a8 8 0 1 0 16 0a8 8 0 1 0-16 0M4 12h16M12 4c3 2.4 3 13.6 0 16M12 4c-3 2.4-3 13.6 0 16",
  fork: "M7 4v16M7 14c0-4 10-2 10-7M14 9.5L17 6.5l3 3",
  help: "M9 9.2a3 3 0 1 1 4.3 2.7c-.9.5-1.3 1-1.3 2.1M12 17.6v.2",
  sun: "M12 12m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0M12 3.5v2M12 18.5v2M3.5 12h2M18.5 12h2M6 6l1.4 1.4M16.6 16.6L18 18M6 18l1.4-1.4M16.6 7.4L18 6",
  moon: "M19 14.2A7.5 7.5 0 0 1 9.8 5a7.5 7.5 0 1 0 9.2 9.2z",
  close: "M6 6l12 12M18 6L6 18",
  reset: "M5 12a7 7 0 1 0 2.2-5.1M5 4.5v4h4",
  centre: "M12 12m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0M12 3.5v4M12 16.5v4M3.5 12h4M16.5 12h4",
  tilt: "M4 17l4-10h8l4 10zM6.4 12h11.2M12 7v10",
  picture: "M4 6h16v12H4zM4 15.5l4.5-4.5 4 4 2.5-2.5 5 5M15.5 9.5v.1",
  trash: "M5 7h14M10 7V5h4v2M7 7l.8 12h8.4L17 7M10.5 10.5v5.5M13.5 10.5v5.5",
  dice: "M5 5h14v14H5zM9 9v.1M15 9v.1M9 15v.1M15 15v.1M12 12v.1",
  path: "M6 19m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M8 19h7a3.5 3.5 0 0 0 0-7H9a3.5 3.5 0 0 1 0-7h6M13 2.5L15.5 5 13 7.5",
} as const;

export type IconName = keyof typeof kPaths;

export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", kPaths[name]);
  svg.append(path);
  return svg;
}
