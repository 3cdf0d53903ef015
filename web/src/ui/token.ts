// SPDX-License-Identifier: Apache-2.0
// Servers that are open to a network want a token. It is handed over once, in the address; the server
// answers with a cookie, since browsers send nothing else with a WebSocket.

/** Whether the server takes the token; from then on it knows this browser. */
export async function handOver(token: string): Promise<boolean> {
  const response = await fetch(`/?token=${encodeURIComponent(token)}`, {
    credentials: "same-origin",
  }).catch(() => null);
  return response?.ok ?? false;
}
