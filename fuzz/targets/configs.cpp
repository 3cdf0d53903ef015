// SPDX-License-Identifier: Apache-2.0
// Configuration files of models, autoencoders, generation and training, and --set options.
#include "loci/base/config.h"
#include "loci/model/autoencoder/vae_config.h"
#include "loci/model/transformer/config.h"
#include "loci/sample/model_folder.h"
#include "loci/sample/stream/stream_options.h"

#include "fuzz/target.h"

namespace loci::fuzz {

LOCI_FUZZ_TARGET(config) {
  const size_t choice = take_choice(bytes, 5);
  if (choice == 4) {
    Json root = {{"a", {{"b", 1}}}, {"c", {1, 2}}};
    apply_setting(root, bytes);
    root.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  if (choice == 3) {
    scratch_file("generation.json", bytes);
    sample::GenerationDefaults::load(scratch_folder());
    return;
  }
  const Json json = parse_json(bytes, "config.json");
  // An accepted configuration can be written and read again.
  if (choice == 0) {
    const auto config = model::TransformerConfig::from_json(json, "config.json");
    model::TransformerConfig::from_json(config.to_json(), "config.json");
  } else if (choice == 1) {
    const auto config = model::VaeConfig::from_json(json, "config.json");
    model::VaeConfig::from_json(config.to_json(), "config.json");
  } else {
    sample::StreamOptions::from_json(json, "options");
  }
}

}  // namespace loci::fuzz
