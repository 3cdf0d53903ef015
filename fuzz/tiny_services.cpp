// SPDX-License-Identifier: Apache-2.0
#include "fuzz/tiny_services.h"

#include "fuzz/target.h"
#include "tests/sample/tiny_folder.h"

namespace loci::fuzz {

namespace {

serve::Limits limits() {
  serve::Limits limits;
  limits.requests_per_second = limits.messages_per_second = 1e9;
  limits.linger_seconds = 0;
  limits.sessions = 4;
  limits.queued_videos = 1;
  limits.video_seconds = 1;
  limits.record_seconds = 1;
  limits.pixels = 64 * 48;
  limits.steps = 2;
  limits.disk_bytes = 64 << 20;
  limits.upload_pixels = 1 << 16;
  return limits;
}

}  // namespace

serve::Services& tiny_services() {
  static serve::Services made = [] {
    const std::filesystem::path model = scratch_folder() / "model";
    loci::testing::make_tiny_folder(model, 1);
    std::filesystem::create_directories(scratch_folder() / "data");
    at_end([] { tiny_services().engine.stop(); });
    return serve::Services({.folders = {model}}, scratch_folder() / "data", {}, limits());
  }();
  return made;
}

}  // namespace loci::fuzz
