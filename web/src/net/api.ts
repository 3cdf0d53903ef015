// SPDX-License-Identifier: Apache-2.0
// Calls of the server's HTTP routes.
import type { Model, Start, WirePose, World } from "./protocol.js";

/** An error of a route; `message` is for the user. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

async function call<T>(path: string, options: RequestInit = {}): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, { ...options, credentials: "same-origin" });
  } catch {
    throw new ApiError("The server does not respond.", 0);
  }
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return body as T;
  const message = (body as { error?: { message?: string } } | null)?.error?.message;
  throw new ApiError(message ?? `The server responded with status ${response.status}.`, response.status);
}

const json = (body: object): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

export const api = {
  models: () => call<{ data: Model[] }>("/v1/models").then(({ data }) => data),
  starts: () => call<{ data: Start[]; styles?: string[] }>("/v1/starts"),
  /** Poses of a start's camera path, one per video frame. */
  path: (address: string, fps: number) => call<{ poses: WirePose[] }>(`${address}?fps=${fps}`),
  worlds: () => call<{ data: World[] }>("/v1/worlds").then(({ data }) => data),
  renameWorld: (id: string, name: string) =>
    call<World>(`/v1/worlds/${encodeURIComponent(id)}`, json({ name })),
  deleteWorld: (id: string) => call(`/v1/worlds/${encodeURIComponent(id)}`, { method: "DELETE" }),
};

/** Address of the WebSocket of the page's own server. */
export function walkUrl(page: { protocol: string; host: string }): string {
  return `${page.protocol === "https:" ? "wss:" : "ws:"}//${page.host}/v1/realtime_video/generate`;
}
