// SPDX-License-Identifier: Apache-2.0
// Helpers for creating and finding elements.

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

/**
 * Creates an element. Keys of `props`: `class`, `dataset`, `style` (custom properties too), `on…`
 * listeners, attributes in lower case or with a dash, anything else as a property. False and null
 * omit an attribute.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, props);
  append(element, children);
  return element;
}

function apply(element: HTMLElement, props: Props): void {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") element.className = String(value);
    else if (key === "dataset") Object.assign(element.dataset, value);
    else if (key === "style") element.setAttribute("style", String(value));
    else if (key.startsWith("on") && typeof value === "function")
      element.addEventListener(key.slice(2).toLowerCase(), value as EventListener);
    else if (key in element && !key.includes("-") && key !== "list" && key !== "form")
      (element as unknown as Props)[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
}

function append(element: Element, children: Child[]): void {
  for (const child of children)
    if (child !== null && child !== undefined && child !== false) element.append(child);
}

/** Replaces the children. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** Fits the canvas to whole device pixels; returns its size and whether it has changed. */
export function fitCanvas(canvas: HTMLCanvasElement, maxRatio = 2): boolean {
  const ratio = Math.min(window.devicePixelRatio || 1, maxRatio);
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width === width && canvas.height === height) return false;
  canvas.width = width;
  canvas.height = height;
  return true;
}

/** The value of a custom CSS property, for drawing on canvases. */
export function cssColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
