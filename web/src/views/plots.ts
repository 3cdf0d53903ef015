// SPDX-License-Identifier: Apache-2.0
// Small plots of the cost of a walk and of its memory, one line per memory.
import uPlot from "uplot";

import { h } from "../core/dom.js";
import type { ChunkStatsMessage } from "../net/protocol.js";
import type { Palette } from "./palette.js";
import { Series } from "./series.js";

interface Measure {
  id: string;
  title: string;
  unit: string;
  help: string;
  /** Null if the chunk has no such value. */
  value: (stats: ChunkStatsMessage, kept: number) => number | null | undefined;
  digits: number; // of small values
}

const kMiB = 1024 * 1024;

const kMeasures: readonly Measure[] = [
  {
    id: "frame",
    title: "Frame time",
    unit: "ms",
    help: "time to generate one video frame",
    value: (stats) =>
      stats.chunk_total_ms === undefined
        ? null
        : stats.chunk_total_ms / Math.max(1, stats.num_frames),
    digits: 0,
  },
  {
    id: "latency",
    title: "Latency",
    unit: "ms",
    help: "from a control to the first frame that shows its effect",
    value: () => null, // measured by the page, when the frame is shown
    digits: 0,
  },
  {
    id: "memory",
    title: "Memory",
    unit: "MiB",
    help: "recurrent states and stored keys and values of this view",
    value: (stats) => stats.memory_bytes / kMiB,
    digits: 1,
  },
  {
    id: "retention",
    title: "Retention",
    unit: "%",
    help: "share of the recurrent state that a chunk kept",
    value: (stats) => (stats.retention === null ? null : 100 * stats.retention),
    digits: 0,
  },
  {
    id: "kept",
    title: "Retained frames",
    unit: "",
    help: "earlier frames that the next chunk may attend to",
    value: (_, kept) => kept,
    digits: 0,
  },
  {
    id: "norm",
    title: "State norm",
    unit: "",
    help: "norm of the recurrent state",
    value: (stats) => stats.state_norm,
    digits: 2,
  },
];

class Plot {
  readonly element: HTMLElement;
  readonly #measure: Measure;
  readonly #series = new Series(2);
  #number = h("output", { class: "plot-number" });
  #holder = h("div", { class: "plot-canvas" });
  #chart: uPlot | null = null;
  #palette: Palette;

  constructor(measure: Measure, palette: Palette) {
    this.#measure = measure;
    this.#palette = palette;
    this.element = h(
      "figure",
      {
        class: "plot",
        dataset: { measure: measure.id },
        title: `${measure.title}: ${measure.help}`,
      },
      h("figcaption", {}, measure.title, this.#number),
      this.#holder,
    );
    this.#holder.setAttribute("role", "img");
    new ResizeObserver(() => this.#resize()).observe(this.#holder);
    this.#label();
  }

  add(line: number, seconds: number, value: number | null | undefined): void {
    if (value === null || value === undefined) return;
    this.#series.add(line, seconds, value);
    this.#chart?.setData(this.#series.columns as uPlot.AlignedData);
    this.#label();
  }

  /** Clears one line, or all lines. */
  clear(line?: number): void {
    this.#series.clear(line);
    this.#chart?.setData(this.#series.columns as uPlot.AlignedData);
    this.#label();
  }

  recolour(palette: Palette): void {
    this.#palette = palette;
    this.#chart?.destroy();
    this.#chart = null;
    this.#resize();
  }

  #label(): void {
    const values = [0, 1].map((line) => this.#series.last(line)).filter((value) => value !== null);
    const text = values
      .map((value) => value.toFixed(Math.abs(value) >= 100 ? 0 : this.#measure.digits))
      .join(" · ");
    this.#number.textContent = text ? `${text} ${this.#measure.unit}`.trim() : "–";
    this.#holder.setAttribute(
      "aria-label",
      `${this.#measure.title} over time, now ${this.#number.textContent}`,
    );
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#holder;
    if (width === 0 || height === 0) return;
    if (this.#chart) this.#chart.setSize({ width, height });
    else
      this.#chart = new uPlot(
        this.#options(width, height),
        this.#series.columns as uPlot.AlignedData,
        this.#holder,
      );
  }

  #options(width: number, height: number): uPlot.Options {
    const { lines, text, grid } = this.#palette;
    return {
      width,
      height,
      padding: [8, 2, 8, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false }, y: { range: (_, low, high) => range(low, high) } },
      axes: [
        { show: false },
        {
          stroke: text,
          font: "10px Inter, sans-serif",
          size: 32,
          gap: 4,
          splits: (_, __, low, high) => [low, high],
          values: (_, ticks) => ticks.map(short),
          grid: { stroke: grid, width: 1 },
          ticks: { show: false },
        },
      ],
      series: [
        {},
        ...lines.map((stroke) => ({
          stroke,
          width: 1.75,
          spanGaps: true,
          points: { show: false },
        })),
      ],
    };
  }
}

/** The range of an axis: a margin around the line, and a default range without values. */
function range(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  const air = Math.max((high - low) * 0.15, Math.abs(high) * 0.05, 1e-3);
  return [Math.max(low >= 0 ? 0 : -Infinity, low - air), high + air];
}

export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 10000) return `${(value / 1000).toFixed(0)}k`;
  if (size >= 1000) return `${(value / 1000).toFixed(1)}k`;
  if (size >= 10 || size === 0) return value.toFixed(0);
  return value.toFixed(size >= 1 ? 1 : 2);
}

export class Plots {
  readonly element: HTMLElement;
  #plots: Map<string, Plot>;

  constructor(palette: Palette) {
    this.#plots = new Map(kMeasures.map((measure) => [measure.id, new Plot(measure, palette)]));
    this.element = h(
      "div",
      { class: "plots" },
      ...[...this.#plots.values()].map((plot) => plot.element),
    );
  }

  /** `seconds`: time in the walk. `kept`: number of retained frames. */
  add(stats: ChunkStatsMessage, seconds: number, kept: number): void {
    for (const measure of kMeasures)
      this.#plots.get(measure.id)?.add(stats.view, seconds, measure.value(stats, kept));
  }

  latency(view: number, seconds: number, ms: number): void {
    this.#plots.get("latency")?.add(view, seconds, ms);
  }

  clear(line?: number): void {
    for (const plot of this.#plots.values()) plot.clear(line);
  }

  recolour(palette: Palette): void {
    for (const plot of this.#plots.values()) plot.recolour(palette);
  }
}
