// SPDX-License-Identifier: Apache-2.0
// The served models. Only the engine's thread may use their weights.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loci/camera/path/keys.h"
#include "loci/camera/time_grid.h"
#include "loci/sample/model_folder.h"
#include "loci/serve/protocol/http_bodies.h"
#include "loci/world/scene/scene.h"

namespace loci::serve {

struct ModelSources {
  std::vector<std::filesystem::path> folders;
  at::ScalarType dtype = at::kFloat;   // of the transformers
  std::filesystem::path decoder = {};  // small decoder of all models; empty: none
};

class ServedModel {
 public:
  ServedModel(std::string id, const std::filesystem::path& folder, const ModelSources& sources);

  const std::string& id() const { return id_; }
  const sample::GenerationDefaults& defaults() const { return folder_.defaults(); }
  // The entry of `/v1/models`.
  const ModelInfo& describe() const { return description_; }
  int64_t frames_per_latent() const { return frames_per_latent_; }
  int64_t chunk_latents() const { return chunk_latents_; }
  camera::TimeGrid time_grid() const { return folder_.config().time_grid(frames_per_latent_); }
  // Width and height of a frame must be multiples of this.
  int64_t side() const { return side_; }
  bool has_text() const { return has_text_; }
  bool recurrent() const { return recurrent_; }
  // The family of scenes that the model was trained for.
  const std::optional<world::Style>& family() const { return family_; }
  // Speeds of the keys: those of the family's training data.
  camera::KeySpeeds key_speeds() const;
  // Hash of the weights of transformer and autoencoder.
  const std::string& weights() const { return weights_; }
  // Whether both models use the same autoencoder, and so the same latents.
  bool shares_latents(const ServedModel& other) const {
    return folder_.hashes().autoencoder == other.folder_.hashes().autoencoder;
  }

  const sample::ModelFolder& folder() const { return folder_; }

 private:
  std::string id_;
  sample::ModelFolder folder_;
  int64_t frames_per_latent_ = 4, chunk_latents_ = 5, side_ = 32;
  bool has_text_ = false, recurrent_ = false;
  std::optional<world::Style> family_;
  std::string weights_;
  ModelInfo description_;
};

// Immutable after construction, which loads all models. Any thread may call every function.
class Models {
 public:
  // A model's id is its folder's name. Two folders of the same name are bad input.
  explicit Models(const ModelSources& sources);

  const std::vector<std::unique_ptr<ServedModel>>& all() const { return models_; }
  // An empty id means the first model. Unknown ids are refused ("not_found").
  const ServedModel& find(const std::string& id) const;
  // The families of scenes that the models were trained for; empty if a model was not trained for a
  // family.
  std::vector<world::Style> families() const;
  // The model that a world was generated with. Other weights are refused ("bad_world").
  const ServedModel& maker(const std::string& id, const std::string& weights) const;

 private:
  std::vector<std::unique_ptr<ServedModel>> models_;
};

}  // namespace loci::serve
