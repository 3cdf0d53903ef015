// SPDX-License-Identifier: Apache-2.0
// Buttons and form fields.
import { fill, h } from "../core/dom.js";
import { icon, type IconName } from "./icons.js";

export interface ButtonOptions {
  icon?: IconName;
  kind?: "plain" | "primary" | "quiet" | "danger";
  /** Shows only the icon; the label is the accessible name. */
  bare?: boolean;
  /** Shows only the icon on narrow screens. */
  shy?: boolean;
  hint?: string;
  keys?: string; // as aria-keyshortcuts
}

export function button(
  label: string,
  onClick: () => void,
  options: ButtonOptions = {},
): HTMLButtonElement {
  const { kind = "plain", bare = false, shy = false } = options;
  const element = h(
    "button",
    {
      type: "button",
      class: ["button", kind, bare && "bare", shy && "shy"].filter(Boolean).join(" "),
      onclick: (event: MouseEvent) => {
        // A click must not leave the focus on the button: the space bar pauses the walk.
        if (event.detail > 0) element.blur();
        onClick();
      },
      title: options.hint ?? (bare || shy ? label : ""),
      "aria-label": bare || shy ? label : null,
      "aria-keyshortcuts": options.keys,
    },
    options.icon && icon(options.icon),
    !bare && h("span", { class: "label" }, label),
  );
  return element;
}

/** Changes the icon and the label of a button. */
export function relabel(element: HTMLButtonElement, label: string, name: IconName): void {
  const text = element.querySelector(".label");
  if (text) text.textContent = label;
  element.querySelector(".icon")?.replaceWith(icon(name));
  if (element.hasAttribute("aria-label")) element.setAttribute("aria-label", label);
  if (element.title) element.title = label;
}

export interface Choice {
  value: string;
  label: string;
}

export function select(
  label: string,
  choices: readonly Choice[],
  onChange: (value: string) => void,
): HTMLSelectElement {
  const element = h("select", { "aria-label": label, onchange: () => onChange(element.value) });
  setChoices(element, choices);
  return element;
}

export function setChoices(element: HTMLSelectElement, choices: readonly Choice[]): void {
  const { value } = element;
  fill(element, ...choices.map((choice) => h("option", { value: choice.value }, choice.label)));
  if (choices.some((choice) => choice.value === value)) element.value = value;
}

/** A number with buttons to decrease and increase it. */
export class Stepper {
  readonly element: HTMLElement;
  #input: HTMLInputElement;

  constructor(label: string, low: number, high: number, onChange: (value: number) => void) {
    const change = (value: number): void => {
      const next = Math.min(high, Math.max(low, Math.round(value) || low));
      this.value = next;
      onChange(next);
    };
    this.#input = h("input", {
      type: "number",
      inputMode: "numeric",
      min: String(low),
      max: String(high),
      "aria-label": label,
      onchange: () => change(this.#input.valueAsNumber),
    });
    this.element = h(
      "div",
      { class: "stepper", role: "group", "aria-label": label },
      h(
        "button",
        { type: "button", "aria-label": `Fewer: ${label}`, onclick: () => change(this.value - 1) },
        "−",
      ),
      this.#input,
      h(
        "button",
        { type: "button", "aria-label": `More: ${label}`, onclick: () => change(this.value + 1) },
        "+",
      ),
    );
  }

  get value(): number {
    return this.#input.valueAsNumber;
  }

  set value(value: number) {
    if (document.activeElement !== this.#input || value !== this.value)
      this.#input.value = String(value);
  }
}

/** A labelled row of a form. */
export function field(label: string, control: Node, hint?: string): HTMLElement {
  return h(
    "label",
    { class: "field" },
    h("span", { class: "field-name" }, label),
    control,
    hint && h("span", { class: "hint" }, hint),
  );
}
