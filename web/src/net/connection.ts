// SPDX-License-Identifier: Apache-2.0
// A WebSocket that reconnects. The delay doubles with every failed attempt. The first message of
// every connection is created anew, so that it can continue the current world.
import { decodeMessage, encodeMessage } from "./codec.js";
import type { ServerMessage } from "./protocol.js";

export type Link =
  | { state: "idle" }
  | { state: "connecting"; attempt: number }
  | { state: "open" }
  | { state: "lost"; attempt: number; retryAt: number }
  | { state: "ended"; code: number };

/** The part of the WebSocket interface that is used here. */
export interface Socket {
  binaryType: string;
  readyState: number;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number }) => void) | null;
  send(data: Uint8Array): void;
  close(code?: number): void;
}

export interface ConnectionOptions {
  open: () => Socket;
  /** Creates the first message of a connection. */
  greet: () => object;
  onMessage: (message: ServerMessage) => void;
  onLink: (link: Link) => void;
  now?: () => number;
  random?: () => number;
}

/** Close codes after which the page does not reconnect: opened elsewhere, or a policy violation. */
const kFinal = new Set([1000, 1008, 1009, 4001]);
const kPingMs = 8000;
const kSilenceMs = 30000;

/** Milliseconds before `attempt` (from 1): doubles from 0.5 s to 10 s, with ±25 % of jitter. */
export function retryDelay(attempt: number, random: number): number {
  return Math.min(10000, 500 * 2 ** (attempt - 1)) * (0.75 + 0.5 * random);
}

export class Connection {
  #options: Required<ConnectionOptions>;
  #socket: Socket | null = null;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pulse: ReturnType<typeof setInterval> | undefined;
  #heard = 0;
  #wanted = false;

  constructor(options: ConnectionOptions) {
    this.#options = { now: () => Date.now(), random: () => Math.random(), ...options };
  }

  /** Connects at once and cancels a scheduled attempt. */
  start(): void {
    this.stop();
    this.#wanted = true;
    this.#attempt = 0;
    this.#connect();
  }

  /** Closes the connection and does not reconnect. */
  stop(): void {
    this.#wanted = false;
    clearTimeout(this.#timer);
    this.#drop(1000);
  }

  /** Starts a scheduled attempt now. */
  retryNow(): void {
    if (!this.#wanted || this.#socket) return;
    clearTimeout(this.#timer);
    this.#connect();
  }

  /** False if there is no connection. */
  send(message: object): boolean {
    if (this.#socket?.readyState !== 1) return false;
    this.#socket.send(encodeMessage(message));
    return true;
  }

  #connect(): void {
    this.#attempt++;
    this.#options.onLink({ state: "connecting", attempt: this.#attempt });
    const socket = this.#options.open();
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.#heard = this.#options.now();
      socket.send(encodeMessage(this.#options.greet()));
      this.#pulse = setInterval(() => this.#beat(), kPingMs);
      this.#options.onLink({ state: "open" });
    };
    socket.onmessage = ({ data }) => {
      this.#heard = this.#options.now();
      const message = decodeMessage(data as ArrayBuffer | string);
      if (!message) return;
      // A server that accepts connections without opening a session keeps its backoff.
      if (message.type === "session") this.#attempt = 0;
      this.#options.onMessage(message);
    };
    socket.onclose = ({ code }) => {
      if (this.#socket !== socket) return;
      this.#drop();
      if (!this.#wanted) return;
      if (kFinal.has(code)) {
        this.#wanted = false;
        this.#options.onLink({ state: "ended", code });
        return;
      }
      this.#retryLater();
    };
  }

  #retryLater(): void {
    const attempt = Math.max(1, this.#attempt);
    const delay = retryDelay(attempt, this.#options.random());
    this.#options.onLink({ state: "lost", attempt, retryAt: this.#options.now() + delay });
    this.#timer = setTimeout(() => this.#connect(), delay);
  }

  #beat(): void {
    // A lost network closes no socket. Only silence shows it.
    if (this.#options.now() - this.#heard > kSilenceMs) {
      this.#drop(4000);
      this.#retryLater();
      return;
    }
    this.send({ type: "ping", sent: this.#options.now() });
  }

  #drop(code?: number): void {
    clearInterval(this.#pulse);
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    if (code !== undefined && socket.readyState <= 1) socket.close(code);
  }
}
