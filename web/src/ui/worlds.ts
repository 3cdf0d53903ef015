// SPDX-License-Identifier: Apache-2.0
// The dialog with the worlds of the server: open, rename, delete.
import { fill, h } from "../core/dom.js";
import { api } from "../net/api.js";
import type { World } from "../net/protocol.js";
import { button } from "./controls.js";
import { ask, openDialog } from "./dialog.js";
import { ago, bytes, historyName, seconds } from "./names.js";

function titleOf(world: World): string {
  return world.name || (world.kind === "saved" ? "Saved world" : "Unnamed world");
}

function detail(world: World): string {
  const memories = world.views.map(({ history }) => historyName(history).short).join(" and ");
  return [seconds(world.seconds), memories, ago(world.updated_at, Date.now() / 1000)]
    .filter(Boolean)
    .join(" · ");
}

/** A card with the picture of a world; a click opens the world. */
export function worldCard(world: World, onOpen: () => void): HTMLElement {
  return h(
    "button",
    { type: "button", class: "world-card", onclick: onOpen, title: world.prompt },
    h("img", { src: `${world.picture}?${world.updated_at}`, alt: "", loading: "lazy" }),
    h("span", { class: "world-title" }, titleOf(world)),
    h("span", { class: "world-detail" }, detail(world)),
  );
}

export interface WorldsActions {
  open: (id: string) => void;
  error: (message: string) => void;
  changed: () => void;
  /** Id of the world that is open. */
  current: string | null;
}

export function openWorlds(actions: WorldsActions): void {
  const list = h("ul", { class: "world-list" });
  const { body, close } = openDialog("Worlds", "worlds", actions.changed);
  body.append(
    h(
      "p",
      { class: "hint" },
      "Every walk is stored as you go. Saved worlds never change: opening one makes a copy.",
    ),
    list,
  );

  const guarded = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
      await load();
    } catch (error) {
      actions.error((error as Error).message);
    }
  };

  const row = (world: World): HTMLElement => {
    const here = world.id === actions.current;
    return h(
      "li",
      {},
      h("img", { src: `${world.picture}?${world.updated_at}`, alt: "", loading: "lazy" }),
      h(
        "div",
        { class: "world-text" },
        h(
          "span",
          { class: "world-title" },
          titleOf(world),
          world.kind === "saved" && h("span", { class: "badge" }, "saved"),
          here && h("span", { class: "badge here" }, "here"),
        ),
        h("span", { class: "world-detail" }, `${detail(world)} · ${bytes(world.bytes)}`),
      ),
      h(
        "div",
        { class: "row" },
        button(
          "Continue",
          () => {
            close();
            actions.open(world.id);
          },
          { kind: "primary" },
        ),
        button(
          "Rename",
          () =>
            void guarded(async () => {
              const name = await ask("Rename", "Name of the world", world.name, "Rename");
              if (name !== null) await api.renameWorld(world.id, name);
            }),
          { kind: "quiet" },
        ),
        !here &&
          button(
            `Delete ${titleOf(world)}`,
            () =>
              void guarded(async () => {
                if (confirm(`Delete “${titleOf(world)}”? This cannot be undone.`))
                  await api.deleteWorld(world.id);
              }),
            { icon: "trash", kind: "danger", bare: true },
          ),
      ),
    );
  };

  const load = async (): Promise<void> => {
    const worlds = await api.worlds();
    fill(list, ...worlds.map(row));
    if (worlds.length === 0)
      fill(list, h("li", { class: "empty" }, "No worlds yet. Start a walk, and it appears here."));
  };
  void guarded(async () => undefined);
}
