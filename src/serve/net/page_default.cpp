// SPDX-License-Identifier: Apache-2.0
// The index of a program that was built without the explorer.
#include "loci/serve/net/page.h"

namespace loci::serve {

namespace {

constexpr std::string_view kIndex = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>loci</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; }
</style>
<h1>loci serve</h1>
<p>This program was built without the explorer. All other routes are available:</p>
<ul>
  <li><a href="/v1/models">/v1/models</a>: served models</li>
  <li><a href="/v1/starts">/v1/starts</a>: starts of walks</li>
  <li><a href="/v1/worlds">/v1/worlds</a>, <a href="/v1/videos">/v1/videos</a>: stored worlds and videos</li>
  <li><a href="/health">/health</a>, <a href="/metrics">/metrics</a>, <a href="/schema">/schema</a></li>
  <li>a WebSocket at <code>/v1/realtime_video/generate</code></li>
</ul>
</html>
)";

constexpr PageFile kFiles[] = {
    {"/index.html", "text/html; charset=utf-8", kIndex, "\"default-1\""}};

}  // namespace

std::span<const PageFile> page_files() { return kFiles; }

}  // namespace loci::serve
