// SPDX-License-Identifier: Apache-2.0
// The panels beside the view: map, panorama, plots. Narrow screens show one at a time.
import { h } from "../core/dom.js";
import { countRoles } from "../session/retained.js";
import type { MemoryState, WalkState } from "../session/walk.js";
import type { ThumbnailCache } from "../session/thumbnails.js";
import { MapView, type MapScene } from "../views/map.js";
import type { Palette } from "../views/palette.js";
import { Plots } from "../views/plots.js";
import { SphereView } from "../views/sphere.js";
import { button } from "./controls.js";
import { memoryNames } from "./names.js";

const kTabs = [
  ["map", "Map"],
  ["panorama", "Panorama"],
  ["measures", "Measures"],
] as const;

export class Side {
  readonly element: HTMLElement;
  readonly plots: Plots;
  #map: MapView;
  #sphere: SphereView;
  #which = h("div", {
    class: "which",
    role: "group",
    "aria-label": "Which memory is shown",
    hidden: true,
  });
  #legend = h("p", { class: "legend" });
  #share = h("output", { class: "panel-number" });
  #chosen = 0;
  #thumbnails: readonly ThumbnailCache[];
  #onChoose: () => void;

  constructor(palette: Palette, thumbnails: readonly ThumbnailCache[], onChoose: () => void) {
    this.#thumbnails = thumbnails;
    this.#onChoose = onChoose;
    const look = (frame: number) => this.#thumbnails[this.#chosen]?.get(frame);
    const mapCanvas = h("canvas", {
      class: "map",
      "aria-label": "Top view: the path, the camera and the retained frames",
      role: "img",
    });
    const sphereCanvas = h("canvas", {
      class: "sphere",
      "aria-label": "Directions around you that the retained frames show",
      role: "img",
    });
    this.#map = new MapView(mapCanvas, palette, look);
    this.#sphere = new SphereView(sphereCanvas, palette, look);
    this.plots = new Plots(palette);
    let flat = false;
    const tools = h(
      "div",
      { class: "map-tools" },
      button("View from above or tilted", () => this.#map.tilt((flat = !flat)), {
        icon: "tilt",
        kind: "quiet",
        bare: true,
      }),
      button(
        "Follow the camera",
        () => {
          flat = false;
          this.#map.recentre();
        },
        { icon: "centre", kind: "quiet", bare: true },
      ),
    );
    this.element = h(
      "aside",
      { class: "side", dataset: { tab: "map" }, "aria-label": "Memory and measures" },
      this.#tabs(),
      this.#which,
      panel(
        "map",
        "Map",
        tools,
        h(
          "div",
          { class: "holder" },
          mapCanvas,
          !this.#map.works && h("p", { class: "no-webgl" }, "The map needs WebGL."),
        ),
        this.#legend,
      ),
      panel(
        "panorama",
        "Panorama in memory",
        this.#share,
        h("div", { class: "holder" }, sphereCanvas),
      ),
      panel("measures", "Measures", null, this.plots.element),
    );
  }

  recolour(palette: Palette): void {
    this.#map.recolour(palette);
    this.#sphere.recolour(palette);
    this.plots.recolour(palette);
  }

  /** New thumbnails of a view have arrived. */
  refresh(view: number): void {
    if (view !== this.#chosen) return;
    this.#map.refresh();
    this.#sphere.refresh();
  }

  /** Clears everything that belongs to the second memory. */
  clearSecond(): void {
    this.plots.clear(1);
    if (this.#chosen === 0) return;
    this.#chosen = 0;
    this.#map.clear();
  }

  clear(): void {
    this.#chosen = 0;
    this.#map.clear();
    this.#sphere.clear();
    this.plots.clear();
    this.#share.textContent = "";
    this.#legend.replaceChildren();
  }

  update(state: Readonly<WalkState>, path: MapScene["path"]): void {
    const memory = state.memories[this.#chosen] ?? state.memories[0];
    const { session } = state;
    if (!memory || !session) return;
    this.#choices(state.memories);
    const scene: MapScene = {
      path,
      pose: state.pose,
      retained: memory.retained,
      revisited: memory.revisited?.frame ?? null,
      fov: session.fov,
      aspect: session.size[0] / session.size[1],
    };
    this.#map.update(scene);
    this.#sphere.update(scene);
    const share = memory.coverage ?? this.#sphere.share;
    this.#share.textContent = memory.retained.length
      ? `${Math.round(100 * share)} % of all directions`
      : "";
    this.#count(memory);
  }

  #choices(memories: readonly MemoryState[]): void {
    this.#which.hidden = memories.length < 2;
    const names = memoryNames(memories.map(({ info }) => info));
    const key = names.join() + this.#chosen;
    if (this.#which.dataset.key === key) return;
    this.#which.dataset.key = key;
    this.#which.replaceChildren(
      ...names.map((name, view) =>
        h(
          "button",
          {
            type: "button",
            dataset: { view: String(view) },
            "aria-pressed": String(view === this.#chosen),
            onclick: () => {
              this.#chosen = view;
              this.#map.clear();
              this.#onChoose();
            },
          },
          name,
        ),
      ),
    );
  }

  #count({ retained, total, revisited, info }: MemoryState): void {
    const count = countRoles(retained, total);
    const entries: [string, string][] = [
      ["sink", `${count.sink} first`],
      ["bank", `${count.bank} ${info.frame_budget === 0 ? "older" : "bank"}`],
      ["recent", `${count.recent} recent`],
    ];
    if (revisited) entries.push(["revisited", "revisited"]);
    const text = entries.map(([, label]) => label).join();
    if (this.#legend.dataset.text === text) return;
    this.#legend.dataset.text = text;
    this.#legend.replaceChildren(
      ...entries.map(([role, label]) => h("span", { class: `key ${role}` }, label)),
    );
  }

  #tabs(): HTMLElement {
    const tabs = kTabs.map(([id, label]) =>
      h(
        "button",
        {
          type: "button",
          role: "tab",
          "aria-selected": String(id === "map"),
          onclick: () => {
            this.element.dataset.tab = id;
            for (const tab of tabs)
              tab.setAttribute("aria-selected", String(tab.textContent === label));
          },
        },
        label,
      ),
    );
    return h("div", { class: "tabs", role: "tablist", "aria-label": "Panels" }, ...tabs);
  }
}

function panel(id: string, title: string, extra: Node | null, ...content: Node[]): HTMLElement {
  return h(
    "section",
    { class: "panel", dataset: { panel: id }, "aria-label": title },
    h("header", {}, h("h2", {}, title), extra),
    ...content,
  );
}
