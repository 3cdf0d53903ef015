// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/open_stream.h"

#include <algorithm>
#include <tuple>

#include "loci/base/log.h"

namespace loci::sample {

SolverOptions StreamOverrides::apply(SolverOptions options) const {
  options.kind = solver.value_or(options.kind);
  options.steps = steps.value_or(options.steps);
  options.shift = shift.value_or(options.shift);
  return options;
}

StreamOptions stream_options(const ModelFolder& folder, const StreamOverrides& overrides) {
  const GenerationDefaults& defaults = folder.defaults();
  const PixelSize size = overrides.size.value_or(PixelSize{defaults.width, defaults.height});
  StreamOptions options;
  std::tie(options.latent_height, options.latent_width) =
      folder.latent_size(size.height, size.width);
  options.history.kind = overrides.history.value_or(defaults.history);
  options.history.set_budget(overrides.history_frames.value_or(defaults.history_frames));
  options.history.sink = defaults.sink_frames;
  options.history.archive = overrides.archive.value_or(defaults.archive);
  if (overrides.kv) options.kv.format = memory::parse_kv_format(*overrides.kv);
  options.kv.staging_bytes = overrides.staging_bytes.value_or(options.kv.staging_bytes);
  options.solver = overrides.apply(defaults.solver);
  options.guidance = overrides.guidance.value_or(defaults.guidance);
  options.commit_level = overrides.commit_level.value_or(defaults.commit_level);
  options.seed = overrides.seed.value_or(options.seed);
  options.tiling.tile = overrides.tile.value_or(options.tiling.tile);
  if (options.tiling.tile > 0) {
    // Tiles that overlap by more than half would be decoded more than twice.
    const int64_t side = folder.vae_config().spatial_factor();
    options.tiling.overlap =
        std::min(options.tiling.overlap, options.tiling.tile / 2 / side * side);
  }
  return options;
}

Stream open_stream(const ModelFolder& folder, const StreamOverrides& overrides,
                   const Prompt& prompt) {
  const StreamOptions options = stream_options(folder, overrides);
  if (folder.config().system == "matrix-game") {
    log_info(
        "{}: the patch memory stays empty, since streams have no depth, and chunks get no context "
        "frame",
        folder.path().string());
  }
  return {folder.transformer(), &folder.vae(), options, prompt};
}

Stream open_stream(const ModelFolder& folder, const StreamOverrides& overrides) {
  return open_stream(folder, overrides, folder.prompt("", ""));
}

}  // namespace loci::sample
