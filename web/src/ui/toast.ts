// SPDX-License-Identifier: Apache-2.0
// Short messages at the edge of the page, announced by screen readers.
import { h } from "../core/dom.js";

const kSeconds = 6;

export class Toasts {
  readonly element = h("div", { class: "toasts", role: "status", "aria-live": "polite" });

  show(text: string, kind: "info" | "error" = "info", action?: HTMLElement): void {
    const toast = h("div", { class: `toast ${kind}` }, h("span", {}, text), action);
    // A repeated message replaces the first one.
    for (const other of [...this.element.children])
      if (other.textContent === toast.textContent) other.remove();
    this.element.append(toast);
    while (this.element.children.length > 3) this.element.firstChild?.remove();
    setTimeout(() => toast.remove(), (action ? 4 : 1) * kSeconds * 1000);
  }
}
