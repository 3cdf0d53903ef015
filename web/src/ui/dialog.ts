// SPDX-License-Identifier: Apache-2.0
// Modal dialogs. Escape or a click outside closes them, and the focus returns to its element.
import { h } from "../core/dom.js";
import { button } from "./controls.js";

export interface OpenDialog {
  body: HTMLElement;
  close: () => void;
}

export function openDialog(
  title: string,
  kind: string,
  onClosed: () => void = () => undefined,
): OpenDialog {
  const body = h("div", { class: "dialog-body" });
  const dialog = h(
    "dialog",
    { class: `dialog ${kind}`, "aria-label": title },
    h(
      "header",
      {},
      h("h2", {}, title),
      button("Close", () => dialog.close(), { icon: "close", kind: "quiet", bare: true }),
    ),
    body,
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    onClosed();
  });
  document.body.append(dialog);
  dialog.showModal();
  return { body, close: () => dialog.close() };
}

/** Asks for a line of text; null if the user cancels. */
export function ask(
  title: string,
  label: string,
  value: string,
  action: string,
): Promise<string | null> {
  return new Promise((resolve) => {
    let answer: string | null = null;
    const { body, close } = openDialog(title, "small", () => resolve(answer));
    const input = h("input", {
      type: "text",
      value,
      maxLength: 80,
      "aria-label": label,
      autocomplete: "off",
    });
    const form = h(
      "form",
      {
        class: "ask",
        onsubmit: (event: Event) => {
          event.preventDefault();
          answer = input.value.trim();
          close();
        },
      },
      input,
      h("button", { type: "submit", class: "button primary" }, action),
    );
    body.append(form);
    input.select();
  });
}
