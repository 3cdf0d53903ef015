// SPDX-License-Identifier: Apache-2.0
// Connects the parts: walk, players, panels and screens.
import { h } from "./core/dom.js";
import { Devices } from "./input/devices.js";
import { api, walkUrl } from "./net/api.js";
import type { ChunkStatsMessage, Second, SessionMessage } from "./net/protocol.js";
import type { Socket } from "./net/connection.js";
import { Player } from "./player/player.js";
import { ThumbnailCache } from "./session/thumbnails.js";
import { Walk, type Common, type Init, type WalkState } from "./session/walk.js";
import { ask } from "./ui/dialog.js";
import { Dock } from "./ui/dock.js";
import { openHelp } from "./ui/help.js";
import { memoryNames, seconds } from "./ui/names.js";
import { Side } from "./ui/side.js";
import { Stage } from "./ui/stage.js";
import { secondFor, StartScreen } from "./ui/start.js";
import { theme, toggleTheme, watchTheme } from "./ui/theme.js";
import { Toasts } from "./ui/toast.js";
import { handOver } from "./ui/token.js";
import { Topbar } from "./ui/topbar.js";
import { ViewPane } from "./ui/viewpane.js";
import { openWorlds } from "./ui/worlds.js";
import { readPalette } from "./views/palette.js";

const kViews = [0, 1] as const;

export class App {
  #walk: Walk;
  #devices = new Devices();
  #toasts = new Toasts();
  #topbar: Topbar;
  #stage: Stage;
  #panes: ViewPane[];
  #players: Player[];
  #thumbnails: ThumbnailCache[];
  #side: Side;
  #dock: Dock;
  #start: StartScreen;
  #explorer: HTMLElement;
  #path: string | null = null; // address of the example path of this walk's start
  #second: Second | null = null; // the last choice
  #hiddenPause = false;
  #changed = true; // since the last refresh of the screen
  #panels = { changed: true, due: 0 }; // map and panorama; `due`: earliest time of the next drawing
  #beat = { at: 0, ms: 16 }; // interval of screen refreshes, smoothed
  #slow = 0; // time of the last slow update

  constructor(root: HTMLElement) {
    document.documentElement.dataset.theme = theme();
    this.#walk = new Walk(() => new WebSocket(walkUrl(location)) as unknown as Socket, {
      onFrames: (batch) => this.#players[batch.view]?.push(batch),
      onThumbnails: ({ view, frames }) => void this.#thumbnails[view]?.add(frames),
      onStats: (stats) => this.#measured(stats),
      onSession: (session, common) => this.#opened(session, common),
      onRecorded: (url, length) => this.#recorded(url, length),
      onError: (message) => this.#toasts.show(message, "error"),
    });
    const walk = this.#walk;
    this.#panes = kViews.map(
      (view) =>
        new ViewPane(view, {
          history: (at, value) => walk.switch("history", at, value),
          steps: (at, value) => walk.switch("steps", at, value),
          readout: (at, value) => walk.switch("readout", at, value),
          reset: (at) => {
            walk.event("reset_memory", { view: at });
            this.#toasts.show("The recurrent state is reset with the next chunk.");
          },
        }),
    );
    this.#players = this.#panes.map(
      (pane, view) =>
        new Player(pane.canvas, (frame, event, now) => this.#shown(view, frame, event, now)),
    );
    this.#thumbnails = kViews.map((view) => new ThumbnailCache(() => this.#side.refresh(view)));
    for (const pane of this.#panes) this.#devices.lookOn(pane.surface);
    this.#topbar = new Topbar({
      home: () => this.home(),
      rename: () => void this.#rename(),
      pause: () => this.#togglePause(),
      split: () => void this.#toggleSplit(),
      record: () => this.#toggleRecord(),
      save: () => void this.#save(),
      fork: () => void this.#fork(),
      worlds: () => this.#openWorlds(),
      help: openHelp,
      theme: toggleTheme,
    });
    this.#stage = new Stage({
      retry: () => walk.retryNow(),
      takeBack: () => walk.takeBack(),
      home: () => this.home(),
      resume: () => walk.event("resume"),
    });
    this.#dock = new Dock(
      this.#devices,
      (text) => {
        walk.event("prompt", text);
        walk.store.set({ prompt: text });
        this.#toasts.show("The prompt takes effect with the next chunk.");
      },
      () => void this.#followPath(),
    );
    this.#side = new Side(readPalette(), this.#thumbnails, () =>
      this.#side.update(walk.store.state, walk.path.poses),
    );
    this.#start = new StartScreen({
      go: (init) => this.go(init),
      worlds: () => this.#openWorlds(),
      error: (message) => this.#toasts.show(message, "error"),
    });
    this.#explorer = h(
      "main",
      { class: "explorer" },
      h("h1", { class: "visually-hidden" }, "Walk"),
      h("div", { class: "centre" }, this.#stage.element, this.#dock.element),
      this.#side.element,
    );
    root.append(this.#topbar.element, this.#start.element, this.#explorer, this.#toasts.element);
    watchTheme((name) => {
      this.#topbar.theme(name === "dark");
      this.#side.recolour(readPalette());
    });
    walk.store.watch([], () => (this.#changed = true));
    this.#listen();
    requestAnimationFrame((now) => this.#tick(now));
  }

  /** Shows the start screen, or continues the world in the address. */
  async open(): Promise<void> {
    while (!(await this.#start.load())) {
      const token = await ask("This server requires a token", "Token", "", "Continue");
      if (!token) {
        this.#toasts.show(
          "The server requires a token. Reload the page to try again.",
          "error",
        );
        return;
      }
      if (!(await handOver(token))) this.#toasts.show("The token is wrong.", "error");
    }
    const world = new URLSearchParams(location.hash.slice(1)).get("world");
    if (world && this.#walk.store.state.phase === "none") this.go({ world });
  }

  go(init: Init): void {
    for (const cache of this.#thumbnails) cache.clear();
    this.#side.clear();
    this.#devices.forget();
    this.#path = this.#start.pathOf(init.start);
    this.#second = init.second ?? this.#second;
    this.#stage.show(this.#panes.slice(0, init.second ? 2 : 1), 1.5, false);
    this.#walk.begin(init);
  }

  home(): void {
    this.#walk.end();
    history.replaceState(null, "", location.pathname);
    void this.#start.reloadWorlds();
  }

  #opened(session: SessionMessage, common: Common): void {
    history.replaceState(null, "", `#world=${session.world}`);
    this.#devices.forget();
    if (common === "all") return;
    // The first view is unchanged when the second one opens or closes.
    for (const view of common === "world" ? [1] : kViews) {
      this.#players[view]?.reset(session.fps, session.size);
      this.#thumbnails[view]?.clear();
    }
    if (common === "world") this.#side.clearSecond();
    else this.#side.clear();
    const mixed = session.views.some(({ model }) => model !== session.views[0]?.model);
    session.views.forEach((info, view) => {
      const model = this.#start.models.find(({ id }) => id === info.model)?.loci;
      this.#panes[view]?.offer(
        model?.histories ?? [info.history],
        model?.readouts ?? [info.readout],
        mixed ? info.model : null,
      );
      if (view === 0) this.#dock.offer(model?.text ?? true, this.#path !== null);
    });
    this.#stage.show(
      this.#panes.slice(0, session.views.length),
      session.size[0] / session.size[1],
      true,
    );
    this.#side.update(this.#walk.store.state, this.#walk.path.poses);
  }

  #measured(stats: ChunkStatsMessage): void {
    const memory = this.#walk.store.state.memories[stats.view];
    if (!memory) return;
    const end = this.#seconds(stats.first_latent + stats.poses.length);
    if (!stats.replayed) this.#side.plots.add(stats, end, memory.total);
    this.#thumbnails[stats.view]?.keep(memory.retained.map(({ frame }) => frame));
  }

  #update(state: Readonly<WalkState>): void {
    const walking = state.phase !== "none";
    this.#start.element.hidden = walking;
    this.#explorer.hidden = !walking;
    this.#devices.enabled = walking;
    document.title = walking && state.name ? `${state.name} · loci` : "loci";
    this.#topbar.update(state, this.#players[0]?.fps ?? 0);
    this.#stage.update(state, Date.now());
    if (!walking) return;
    this.#dock.update(state, this.#walk.path.length);
    this.#panels.changed = true;
    const names = memoryNames(state.memories.map(({ info }) => info));
    state.memories.forEach((memory, view) => {
      this.#panes[view]?.name(names[view] ?? "");
      this.#panes[view]?.update(memory, (frame) => this.#thumbnails[view]?.get(frame));
    });
  }

  #tick(now: number): void {
    requestAnimationFrame((next) => this.#tick(next));
    const transition = this.#devices.take(now);
    if (transition && this.#walk.store.state.phase !== "none") this.#walk.control(transition, now);
    for (const player of this.#players) player.tick(now);
    this.#dock.light();
    if (this.#changed) {
      this.#changed = false;
      this.#update(this.#walk.store.state);
    }
    this.#drawPanels(now);
    if (now - this.#slow < 500) return;
    this.#slow = now;
    this.#topbar.update(this.#walk.store.state, this.#players[0]?.fps ?? 0);
    this.#stage.update(this.#walk.store.state, Date.now());
  }

  /** Map and panorama are expensive to draw: on a slow screen they are drawn less often. */
  #drawPanels(now: number): void {
    this.#beat.ms += 0.1 * (Math.min(1000, now - this.#beat.at) - this.#beat.ms);
    this.#beat.at = now;
    if (!this.#panels.changed || now < this.#panels.due) return;
    this.#panels = { changed: false, due: now + Math.min(2000, 20 * this.#beat.ms) };
    this.#side.update(this.#walk.store.state, this.#walk.path.poses);
  }

  #shown(view: number, frame: number, event: number | null, now: number): void {
    if (view !== 0) return;
    const ms = this.#walk.latency.shown(event, now);
    const perLatent = this.#walk.store.state.session?.frames_per_latent ?? 4;
    if (ms !== null) this.#side.plots.latency(view, this.#seconds(frame / perLatent), ms);
  }

  /** Time of a latent in the walk. */
  #seconds(latent: number): number {
    const { session } = this.#walk.store.state;
    return session ? (latent * session.frames_per_latent) / session.fps : 0;
  }

  #togglePause(): void {
    const { phase } = this.#walk.store.state;
    if (phase === "running" || phase === "paused")
      this.#walk.event(phase === "running" ? "pause" : "resume");
  }

  #toggleRecord(): void {
    const { recording } = this.#walk.store.state;
    if (recording === "off") this.#walk.record(true);
    else if (recording === "on") this.#walk.record(false);
  }

  /** Opens or closes the second view. */
  async #toggleSplit(): Promise<void> {
    const { memories, phase, recording } = this.#walk.store.state;
    const first = memories[0]?.info;
    if (!first || phase === "starting") return;
    if (recording !== "off") {
      this.#toasts.show("Stop the recording first: the size of its frames would change.");
      return;
    }
    const second =
      memories.length > 1 ? null : (this.#second ?? secondFor(this.#start.models, first));
    try {
      await this.#walk.split(second);
      this.#toasts.show(
        second
          ? "Both memories know the walk so far. From now on, each view generates its own frames."
          : "Back to one view.",
      );
    } catch (error) {
      this.#second = null;
      this.#toasts.show((error as Error).message, "error");
    }
  }

  async #followPath(): Promise<void> {
    const { session } = this.#walk.store.state;
    if (!this.#path || !session) return;
    try {
      const { poses } = await api.path(this.#path, session.fps);
      this.#walk.follow(poses.slice(1));
      if (this.#walk.store.state.phase === "paused") this.#walk.event("resume");
      this.#toasts.show("Following the example path. Any step ends it.");
    } catch (error) {
      this.#toasts.show((error as Error).message, "error");
    }
  }

  async #save(): Promise<void> {
    const name = await ask(
      "Save this world",
      "Name of the world",
      this.#walk.store.state.name,
      "Save",
    );
    if (name === null) return;
    try {
      const world = await this.#walk.save(name);
      this.#toasts.show(`Saved${world.name ? ` as “${world.name}”` : ""}.`);
    } catch (error) {
      this.#toasts.show((error as Error).message, "error");
    }
  }

  async #fork(): Promise<void> {
    const { name } = this.#walk.store.state;
    const chosen = await ask(
      "Continue in a copy",
      "Name of the copy",
      name ? `${name} (copy)` : "",
      "Fork",
    );
    if (chosen === null) return;
    try {
      const world = await this.#walk.fork(chosen);
      history.replaceState(null, "", `#world=${world.id}`);
      this.#toasts.show("You are now in the copy. The original world stays as it was.");
    } catch (error) {
      this.#toasts.show((error as Error).message, "error");
    }
  }

  async #rename(): Promise<void> {
    const { session, name } = this.#walk.store.state;
    if (!session) return;
    const chosen = await ask("Rename", "Name of the world", name, "Rename");
    if (chosen === null) return;
    try {
      await api.renameWorld(session.world, chosen);
      this.#walk.store.set({ name: chosen });
    } catch (error) {
      this.#toasts.show((error as Error).message, "error");
    }
  }

  #openWorlds(): void {
    openWorlds({
      open: (world) => this.go({ world }),
      error: (message) => this.#toasts.show(message, "error"),
      changed: () => void this.#start.reloadWorlds(),
      current: this.#walk.store.state.session?.world ?? null,
    });
  }

  #recorded(url: string, length: number): void {
    const link = h(
      "a",
      { href: url, download: "loci-walk.mp4", class: "button primary" },
      "Download MP4",
    );
    this.#toasts.show(`Recorded ${seconds(length)}.`, "info", link);
  }

  #listen(): void {
    const shortcuts: Record<string, () => void> = {
      " ": () => this.#togglePause(),
      r: () => this.#toggleRecord(),
      f: () => void toggleFullScreen(this.#stage.element),
      m: toggleTheme,
      "?": openHelp,
    };
    addEventListener("keydown", (event) => {
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        event.repeat ||
        document.querySelector("dialog[open]")
      )
        return;
      const target = event.target as HTMLElement;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      // The space bar on a button presses the button.
      if (target.tagName === "BUTTON" && event.key === " ") return;
      const action = shortcuts[event.key.toLowerCase()];
      if (!action || (this.#walk.store.state.phase === "none" && !"m?".includes(event.key))) return;
      event.preventDefault();
      action();
    });
    // A hidden page pauses the walk, to free the engine.
    document.addEventListener("visibilitychange", () => {
      const { phase, recording } = this.#walk.store.state;
      if (document.hidden && phase === "running" && recording === "off") {
        this.#hiddenPause = this.#walk.event("pause") !== null;
      } else if (!document.hidden && this.#hiddenPause) {
        this.#hiddenPause = false;
        this.#walk.event("resume");
      }
    });
    addEventListener("online", () => this.#walk.retryNow());
    addEventListener("hashchange", () => {
      const world = new URLSearchParams(location.hash.slice(1)).get("world");
      if (world && world !== this.#walk.store.state.session?.world) this.go({ world });
    });
  }
}

async function toggleFullScreen(element: HTMLElement): Promise<void> {
  if (document.fullscreenElement) await document.exitFullscreen();
  else await element.requestFullscreen?.();
}
