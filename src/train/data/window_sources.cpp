// SPDX-License-Identifier: Apache-2.0
#include "loci/train/data/window_sources.h"

#include "loci/base/random.h"
#include "loci/train/data/latent_folder.h"

namespace loci::train {

std::vector<DataPart> read_data_parts(const ConfigReader& phase) {
  std::vector<DataPart> parts;
  for (const ConfigReader& data : phase.sections("data")) {
    parts.push_back({data.get<std::string>("folder"), data.get<double>("weight", 1, 0, 1e9)});
  }
  if (parts.empty()) {
    fail("{}: data is empty; name at least one folder of latent clips", phase.where());
  }
  return parts;
}

void WindowSources::open(const std::vector<DataPart>& mixture) {
  for (const DataPart& part : mixture) {
    std::unique_ptr<WindowSource>& source = sources_[part.folder.string()];
    if (!source) source = open_other(part.folder);
  }
}

std::unique_ptr<WindowSource> WindowSources::open_other(const std::filesystem::path& folder) const {
  auto source = std::make_unique<LatentFolder>(folder, seed_);
  if (const int64_t channels = source->latent_shape().front(); channels != channels_) {
    fail(
        "{}: the latents have {} channels, but model.in_channels is {}; set model.in_channels={} "
        "or encode the clips with another autoencoder",
        folder.string(), channels, channels_, channels);
  }
  return source;
}

const WindowSource& WindowSources::choose(const std::vector<DataPart>& mixture,
                                          uint64_t index) const {
  double total = 0;
  for (const DataPart& part : mixture) total += part.weight;
  double left = Random{seed_, index}.uniform(0, total);
  for (const DataPart& part : mixture) {
    left -= part.weight;
    if (left < 0) return *sources_.at(part.folder.string());
  }
  return *sources_.at(mixture.back().folder.string());
}

void WindowSources::collect_captions(std::set<std::string>& captions) const {
  for (const auto& [folder, source] : sources_) {
    for (std::string& caption : source->captions()) captions.insert(std::move(caption));
  }
}

}  // namespace loci::train
