// SPDX-License-Identifier: Apache-2.0
// A server that is open to a network requires a token. The page sends it once, in the address. The
// server answers with a cookie, because browsers send no other credential with a WebSocket.

/** Sends the token; true if the server accepts it and has set its cookie. */
export async function handOver(token: string): Promise<boolean> {
  const response = await fetch(`/?token=${encodeURIComponent(token)}`, {
    credentials: "same-origin",
  }).catch(() => null);
  return response?.ok ?? false;
}
