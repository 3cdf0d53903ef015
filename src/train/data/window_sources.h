// SPDX-License-Identifier: Apache-2.0
// The folders of latent clips that the phases of a recipe draw windows from.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/train/data/window.h"

namespace loci::train {

// One folder of a mixture and its weight.
struct DataPart {
  std::filesystem::path folder;  // of latent clips
  double weight = 1;
};

// Reads the list "data" of a phase, which must name at least one folder.
std::vector<DataPart> read_data_parts(const ConfigReader& phase);

class WindowSources {
 public:
  // Folders whose latents do not have `channels` channels are bad input.
  WindowSources(uint64_t seed, int64_t channels) : seed_(seed), channels_(channels) {}

  // Opens the folders of a mixture that are not open yet.
  void open(const std::vector<DataPart>& mixture);
  // A folder that is not part of a mixture, for example for validation.
  std::unique_ptr<WindowSource> open_other(const std::filesystem::path& folder) const;
  // The source of window `index`, drawn by the weights of a mixture whose folders are open.
  const WindowSource& choose(const std::vector<DataPart>& mixture, uint64_t index) const;
  // The source with the alphabetically first folder: the one on which statistics are measured.
  const WindowSource& first() const { return *sources_.begin()->second; }
  // Adds all captions.
  void collect_captions(std::set<std::string>& captions) const;

 private:
  uint64_t seed_;
  int64_t channels_;
  std::map<std::string, std::unique_ptr<WindowSource>> sources_;  // by folder
};

}  // namespace loci::train
