// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/models.h"

#include <algorithm>

#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/base/text.h"
#include "loci/model/weights/summary.h"
#include "loci/serve/protocol/ids.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace fs = std::filesystem;

ServedModel::ServedModel(std::string id, const fs::path& folder, at::ScalarType dtype)
    : id_(std::move(id)), folder_(folder, dtype) {
  const model::Transformer& transformer = folder_.transformer();
  const model::Vae& vae = folder_.vae();
  frames_per_latent_ = vae.config().temporal_factor();
  chunk_latents_ = transformer.config().chunk_size;
  side_ = vae.config().spatial_factor() * transformer.config().patch;
  has_text_ = folder_.has_text_encoder();
  weights_ = folder_.hashes().transformer + folder_.hashes().autoencoder;
  const uint64_t parameters = model::count_parameters(transformer.config()).total();
  for (int64_t layer = 0; layer < transformer.config().layers; ++layer) {
    recurrent_ = recurrent_ || transformer.config().is_hybrid(layer);
  }
  const sample::GenerationDefaults& d = folder_.defaults();
  description_ = {{"id", id_},
                  {"object", "model"},
                  {"created", unix_time()},
                  {"owned_by", "loci"},
                  {"loci",
                   {{"size", {d.width, d.height}},
                    {"fps", d.fps},
                    {"fov", d.fov},
                    {"steps", d.solver.steps},
                    {"solver", d.solver.kind},
                    {"guidance", d.guidance},
                    {"history", d.history},
                    {"histories", memory::history_names()},
                    {"solvers", sample::solver_names()},
                    {"readouts", sample::readout_names()},
                    {"chunk_latents", chunk_latents_},
                    {"frames_per_latent", frames_per_latent_},
                    {"parameters", parameters},
                    {"recurrent", recurrent_},
                    {"text", has_text_}}}};
  log_info("model {}: {} parameters, {}x{} at {} frames a second", id_, format_count(parameters),
           d.width, d.height, d.fps);
}

Models::Models(const std::vector<fs::path>& folders, at::ScalarType dtype) {
  if (folders.empty()) fail("no model is given; use --model DIR");
  for (const fs::path& folder : folders) {
    const fs::path clean = fs::weakly_canonical(folder);
    const std::string id = clean.filename().string();
    for (const auto& model : models_) {
      if (model->id() == id) fail("two model folders are named {}; rename one of them", id);
    }
    models_.push_back(std::make_unique<ServedModel>(id, folder, dtype));
  }
}

const ServedModel& Models::find(const std::string& id) const {
  if (id.empty()) return *models_.front();
  for (const auto& model : models_) {
    if (model->id() == id) return *model;
  }
  std::vector<std::string> ids;
  for (const auto& model : models_) ids.push_back(model->id());
  refuse("not_found", "there is no model of that name; served are: {}", fmt::join(ids, ", "));
}

const ServedModel& Models::maker(const std::string& id, const std::string& weights) const {
  const ServedModel& model = find(id);
  if (model.weights() != weights) {
    refuse("bad_world", "this world was made by another version of the model");
  }
  return model;
}

}  // namespace loci::serve
