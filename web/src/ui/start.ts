// SPDX-License-Identifier: Apache-2.0
// The start screen: choose a start and the settings of a walk.
import { fill, h } from "../core/dom.js";
import { api, ApiError } from "../net/api.js";
import type { Model, Second, Start, World } from "../net/protocol.js";
import type { Init } from "../session/walk.js";
import { button, field, select, setChoices, Stepper, type Choice } from "./controls.js";
import { icon } from "./icons.js";
import { historyName } from "./names.js";
import { pictureIn, readPicture } from "./upload.js";
import { worldCard } from "./worlds.js";

const kTourSeconds = 18; // a full turn, then a walk of the same length; for scenes without a tour

export interface StartActions {
  go: (init: Init) => void;
  worlds: () => void;
  error: (message: string) => void;
}

export class StartScreen {
  readonly element: HTMLElement;
  #actions: StartActions;
  #grid = h("div", { class: "places", role: "group", "aria-label": "Start pictures" });
  #worlds = h("div", { class: "world-row" });
  #worldsSection: HTMLElement;
  #preview = h("div", { class: "preview" });
  #prompt = h("textarea", { rows: 3, placeholder: "Describe the world", maxLength: 2000 });
  #promptField: HTMLElement;
  #model: HTMLSelectElement;
  #modelField: HTMLElement;
  #history = select("History policy", [], () => undefined);
  #steps = new Stepper("Denoising steps", 1, 50, () => undefined);
  #seed = h("input", {
    type: "text",
    inputMode: "numeric",
    value: "42",
    "aria-label": "Seed",
    autocomplete: "off",
  });
  #tour = h("input", { type: "checkbox", role: "switch", checked: true });
  #tourField: HTMLElement;
  #tourLength = h("span", {});
  #second = h("input", { type: "checkbox", role: "switch" });
  #other = select("Second memory", [], () => undefined);
  #otherModel = select("Second model", [], () => this.#offerSecond());
  #otherModelField: HTMLElement;
  #go: HTMLButtonElement;
  #note = h("p", { class: "note", role: "alert" });
  #models: Model[] = [];
  #starts: Start[] = [];
  #chosen: string | null = null;
  #own: { blob: Blob; url: string } | null = null;

  constructor(actions: StartActions) {
    this.#actions = actions;
    this.#model = select("Model", [], () => this.#offer());
    this.#go = button("Start walking", () => void this.#start(), { kind: "primary", icon: "play" });
    this.#go.disabled = true;
    this.#promptField = field("Prompt", this.#prompt);
    this.#modelField = field("Model", this.#model);
    this.#tourField = h(
      "label",
      { class: "switch" },
      this.#tour,
      h(
        "span",
        {},
        h("b", {}, "Show this place to the model first"),
        this.#tourLength,
      ),
    );
    this.#second.addEventListener("change", () => (secondFields.hidden = !this.#second.checked));
    this.#otherModelField = field("Second model", this.#otherModel);
    const secondFields = h(
      "div",
      { class: "stack", hidden: true },
      this.#otherModelField,
      field("Second memory", this.#other),
    );
    this.#worldsSection = h(
      "section",
      { class: "recent-worlds", hidden: true },
      h(
        "header",
        {},
        h("h2", {}, "Continue a walk"),
        button("All worlds", actions.worlds, { kind: "quiet" }),
      ),
      this.#worlds,
    );
    this.element = h(
      "main",
      { class: "start" },
      h(
        "div",
        { class: "start-main" },
        h("h1", {}, "Choose a place and walk into it."),
        h(
          "p",
          { class: "lead" },
          "Every step is generated as you take it, and the model remembers what you have seen: turn back, and it is still there.",
        ),
        this.#note,
        this.#worldsSection,
        h("section", {}, h("header", {}, h("h2", {}, "Start a new walk")), this.#grid),
      ),
      h(
        "form",
        {
          class: "start-side",
          "aria-label": "Settings of the walk",
          onsubmit: (event: Event) => {
            event.preventDefault();
            void this.#start();
          },
        },
        this.#preview,
        this.#tourField,
        this.#promptField,
        this.#modelField,
        field("Memory", this.#history),
        h(
          "div",
          { class: "pair" },
          field("Steps", this.#steps.element),
          field("Seed", this.#seedBox()),
        ),
        h(
          "label",
          { class: "switch" },
          this.#second,
          h("span", {}, h("b", {}, "Split view"), "Two memories, controlled together"),
        ),
        secondFields,
        this.#go,
      ),
    );
    this.#listenForPictures();
  }

  /** Loads models and starts from the server; false if the server requires a token. */
  async load(): Promise<boolean> {
    this.#skeleton();
    try {
      const [models, starts] = await Promise.all([api.models(), api.starts()]);
      this.#models = models;
      this.#starts = starts.data;
      const choices = models.map(({ id }) => ({ value: id, label: id }));
      setChoices(this.#model, choices);
      setChoices(this.#otherModel, choices);
      this.#modelField.hidden = this.#otherModelField.hidden = models.length < 2;
      this.#offer();
      this.#show();
      this.#note.textContent = "";
      void this.reloadWorlds();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return false;
      this.#note.replaceChildren(
        `${(error as Error).message} `,
        button("Try again", () => void this.load(), { kind: "plain" }),
      );
      fill(this.#grid);
    }
    return true;
  }

  async reloadWorlds(): Promise<void> {
    const worlds = await api.worlds().catch((): World[] => []);
    this.#worldsSection.hidden = worlds.length === 0;
    fill(
      this.#worlds,
      ...worlds
        .slice(0, 4)
        .map((world) => worldCard(world, () => this.#actions.go({ world: world.id }))),
    );
  }

  get models(): readonly Model[] {
    return this.#models;
  }

  /** Address of the start's camera path, if it has one. */
  pathOf(start: Init["start"]): string | null {
    return this.#starts.find(({ id }) => id === start)?.path ?? null;
  }

  #seedBox(): HTMLElement {
    const dice = button(
      "Another seed",
      () => (this.#seed.value = String(Math.floor(Math.random() * 1e6))),
      { icon: "dice", kind: "quiet", bare: true },
    );
    return h("div", { class: "with-button" }, this.#seed, dice);
  }

  #offer(): void {
    const model = this.#models.find(({ id }) => id === this.#model.value) ?? this.#models[0];
    if (!model) return;
    setChoices(this.#history, historyChoices(model));
    this.#history.value = model.loci.history;
    this.#otherModel.value = otherModel(this.#models, model.id)?.id ?? model.id;
    this.#offerSecond();
    this.#steps.value = model.loci.steps;
    this.#promptField.hidden = !model.loci.text;
  }

  /** Preselects a second memory that keeps everything. */
  #offerSecond(): void {
    const model = this.#models.find(({ id }) => id === this.#otherModel.value) ?? this.#models[0];
    if (!model) return;
    setChoices(this.#other, historyChoices(model));
    this.#other.value =
      this.#otherModel.value === this.#model.value || !model.loci.recurrent
        ? "dense"
        : model.loci.history;
  }

  #skeleton(): void {
    fill(
      this.#grid,
      ...Array.from({ length: 6 }, () =>
        h("div", { class: "place skeleton", "aria-hidden": "true" }),
      ),
    );
  }

  #show(): void {
    const cards = this.#starts.map((start) => this.#card(start));
    fill(this.#grid, this.#dropCard(), ...cards);
    // Prefer a rendered scene, which has a tour.
    const first = this.#starts.find(({ kind }) => kind === "procedural") ?? this.#starts[0];
    if (first && this.#chosen === null) this.#choose(first.id);
    else this.#choose(this.#chosen);
    this.#go.disabled = this.#starts.length === 0 && !this.#own;
  }

  #card(start: Start): HTMLElement {
    const card = h(
      "button",
      {
        type: "button",
        class: "place skeleton", // until its picture is loaded: the server may have to render it
        dataset: { start: start.id },
        onclick: () => this.#choose(start.id),
        ondblclick: () => void this.#start(),
      },
      h("img", { src: start.picture, alt: "", onload: () => card.classList.remove("skeleton") }),
      h("span", {}, start.title),
    );
    return card;
  }

  #dropCard(): HTMLElement {
    const input = h("input", {
      type: "file",
      accept: "image/*",
      class: "visually-hidden",
      onchange: () => void this.#take(pictureIn(input.files)),
    });
    return h(
      "label",
      { class: "place drop", dataset: { start: "own" } },
      input,
      this.#own ? h("img", { src: this.#own.url, alt: "Your picture" }) : icon("picture"),
      h("span", {}, this.#own ? "Your picture" : "Your own picture"),
      !this.#own && h("small", {}, "Drop, paste or choose"),
    );
  }

  #choose(id: string | null): void {
    this.#chosen = id;
    for (const card of this.#grid.querySelectorAll<HTMLElement>(".place")) {
      const on = card.dataset.start === id;
      card.classList.toggle("chosen", on);
      if (card instanceof HTMLButtonElement) card.setAttribute("aria-pressed", String(on));
    }
    const start = this.#starts.find((entry) => entry.id === id);
    const source = id === "own" ? this.#own?.url : start?.picture;
    fill(
      this.#preview,
      source ? h("img", { src: source, alt: start?.title ?? "Your picture" }) : null,
    );
    this.#tourField.hidden = start?.kind !== "procedural";
    this.#tourLength.textContent =
      `The model watches a recorded tour of ${tourSeconds(start)} s. ` +
      "Take a step to end it early.";
    if (start) this.#prompt.value = start.prompt;
  }

  async #take(file: File | null): Promise<void> {
    if (!file) return;
    try {
      const blob = await readPicture(file);
      if (this.#own) URL.revokeObjectURL(this.#own.url);
      this.#own = { blob, url: URL.createObjectURL(blob) };
      this.#prompt.value = "";
      this.#chosen = "own";
      this.#show();
    } catch (error) {
      this.#actions.error((error as Error).message);
    }
  }

  #listenForPictures(): void {
    const here = (): boolean => this.element.isConnected && !this.element.hidden;
    addEventListener("dragover", (event) => {
      event.preventDefault();
      if (here()) this.element.dataset.dropping = "";
    });
    addEventListener("dragleave", (event) => {
      if (event.relatedTarget === null) delete this.element.dataset.dropping;
    });
    addEventListener("drop", (event) => {
      event.preventDefault();
      delete this.element.dataset.dropping;
      if (!here()) return;
      const file = pictureIn(event.dataTransfer?.files);
      if (file) void this.#take(file);
      else this.#actions.error("Drop a picture file, such as a JPEG or PNG.");
    });
    addEventListener("paste", (event) => {
      if (here()) void this.#take(pictureIn(event.clipboardData?.files));
    });
  }

  async #start(): Promise<void> {
    const seed = this.#seed.value.trim();
    if (!/^\d{1,20}$/.test(seed)) {
      this.#actions.error("The seed must be a whole number.");
      this.#seed.focus();
      return;
    }
    const init: Init = {
      model: this.#model.value,
      seed,
      history: this.#history.value,
      num_inference_steps: this.#steps.value,
    };
    if (!this.#promptField.hidden) init.prompt = this.#prompt.value.trim();
    if (this.#chosen === "own" && this.#own)
      init.first_frame = new Uint8Array(await this.#own.blob.arrayBuffer());
    else if (this.#chosen) init.start = this.#chosen;
    if (!this.#tourField.hidden && this.#tour.checked) {
      init.tour_seconds = tourSeconds(this.#starts.find(({ id }) => id === this.#chosen));
    }
    if (this.#second.checked)
      init.second = { model: this.#otherModel.value, history: this.#other.value };
    this.#actions.go(init);
  }
}

/** The model to compare with: preferably one of another kind (recurrent or not). */
function otherModel(models: readonly Model[], id: string): Model | undefined {
  const own = models.find((model) => model.id === id);
  const others = models.filter((model) => model.id !== id);
  return others.find(({ loci }) => loci.recurrent !== own?.loci.recurrent) ?? others[0];
}

/** Settings of the second view: another model if there is one, else another history policy. */
export function secondFor(
  models: readonly Model[],
  view: { model: string; history: string },
): Second {
  const other = otherModel(models, view.model);
  if (!other) return { history: view.history === "dense" ? "sparse" : "dense" };
  return { model: other.id, history: other.loci.recurrent ? other.loci.history : "dense" };
}

function historyChoices(model: Model): Choice[] {
  return model.loci.histories.map((value) => ({ value, label: historyName(value).label }));
}

/** Length of the tour of a start in seconds. */
function tourSeconds(start: Start | undefined): number {
  return start?.tour_seconds ?? kTourSeconds;
}
