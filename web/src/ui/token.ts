// SPDX-License-Identifier: Apache-2.0
// Servers that are open to a network want a token: it comes with the address or is asked for, and is
// kept as a cookie because browsers send nothing else with a WebSocket.

const kCookie = "loci_token";

function keep(token: string): void {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${kCookie}=${encodeURIComponent(token)}; Path=/; SameSite=Strict; Max-Age=2592000${secure}`;
}

/** Moves a token from the address into the cookie, out of sight and out of the history. */
export function adoptToken(): void {
  const url = new URL(location.href);
  const token = url.searchParams.get("token");
  if (token === null) return;
  keep(token);
  url.searchParams.delete("token");
  history.replaceState(null, "", url);
}

export { keep as keepToken };
