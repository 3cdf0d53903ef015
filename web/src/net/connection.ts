// SPDX-License-Identifier: Apache-2.0
// A WebSocket that comes back: after a loss it tries again, ever more slowly, and the first message
// of every connection is made anew, so that it can ask for the world that was being walked.
import { decodeMessage, encodeMessage } from "./codec.js";
import type { ServerMessage } from "./protocol.js";

export type Link =
  | { state: "idle" }
  | { state: "connecting"; attempt: number }
  | { state: "open" }
  | { state: "lost"; attempt: number; retryAt: number }
  | { state: "ended"; code: number };

/** What is needed of a WebSocket. */
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
  /** The first message. */
  greet: () => object;
  onMessage: (message: ServerMessage) => void;
  onLink: (link: Link) => void;
  now?: () => number;
  random?: () => number;
}

/** The server will not have this client again by itself: opened elsewhere, or against its rules. */
const kFinal = new Set([1000, 1008, 1009, 4001]);
const kPingMs = 8000;
const kSilenceMs = 30000;

/** Milliseconds until try number `attempt` (from 1): doubling from half a second to ten, spread out. */
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

  /** Connects, at once even if it was about to try later. */
  start(): void {
    this.stop();
    this.#wanted = true;
    this.#attempt = 0;
    this.#connect();
  }

  /** Closes for good. */
  stop(): void {
    this.#wanted = false;
    clearTimeout(this.#timer);
    this.#drop(1000);
  }

  /** Tries now instead of later. */
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
      // Only a server that gave a session is one worth hurrying back to.
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
    // A network that went away closes nothing: silence tells.
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
