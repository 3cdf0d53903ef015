// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/validation.h"

#include <algorithm>
#include <optional>

#include <ATen/ATen.h>

#include "loci/base/interrupt.h"
#include "loci/base/random.h"
#include "loci/memory/recurrent/key_spread.h"
#include "loci/train/windows/target_chunks.h"
#include "loci/train/windows/window_pass.h"

namespace loci::train {

namespace {

// Sums of named values. Every rank has the same names in the same order, so that the sums can be
// added over ranks.
class Sums {
 public:
  explicit Sums(const model::TransformerConfig& config) {
    for (const char* name : {"loss", "loss_read_off", "loss_noise_0.2", "loss_noise_0.4",
                             "loss_noise_0.6", "loss_noise_0.8", "loss_noise_1.0", "loss_new",
                             "loss_gap_1-4s", "loss_gap_4-8s", "loss_gap_8-20s", "loss_gap_20s+"}) {
      names_.emplace_back(name);
    }
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      if (!config.is_hybrid(layer)) continue;
      for (const char* name : {"retention", "keys", "write"}) {
        names_.push_back(fmt::format("{}_{}", name, layer));
      }
    }
    sums_ = at::zeros({static_cast<int64_t>(names_.size()), 2}, at::kDouble);
  }
  void add(const std::string& name, double value) {
    const auto at = std::find(names_.begin(), names_.end(), name) - names_.begin();
    sums_[at][0] += value;
    sums_[at][1] += 1;
  }
  ValidationScores means(Communicator& communicator) const {
    communicator.all_reduce_mean(sums_);
    ValidationScores scores;
    for (size_t i = 0; i < names_.size(); ++i) {
      const at::Tensor entry = sums_[static_cast<int64_t>(i)];
      if (entry[1].item<double>() == 0) continue;
      scores[names_[i]] = (entry[0] / entry[1]).item<double>();
    }
    return scores;
  }

 private:
  std::vector<std::string> names_;
  at::Tensor sums_;  // [names, (sum, count)]
};

// Indices of the tokens that are written to the states: those of clean copies, not those of target
// chunks.
at::Tensor written_tokens(const WindowPass& pass) {
  const int64_t tokens = pass.maps.grid.tokens();
  std::vector<at::Tensor> rows;
  for (const model::ChunkSpan& chunk : pass.chunks) {
    if (chunk.written) rows.push_back(at::arange(chunk.begin * tokens, chunk.end * tokens));
  }
  return at::cat(rows).to(pass.latents.device());
}

std::string gap_name(const std::optional<double>& gap) {
  if (!gap) return "loss_new";
  if (*gap < 4) return "loss_gap_1-4s";
  if (*gap < 8) return "loss_gap_4-8s";
  if (*gap < 20) return "loss_gap_8-20s";
  return "loss_gap_20s+";
}

}  // namespace

ValidationConfig ValidationConfig::from(const ConfigReader& reader) {
  ValidationConfig config;
  config.folder = reader.get<std::string>("folder", "");
  config.windows = reader.get<int64_t>("windows", config.windows, 1, 1 << 20);
  config.vae = reader.get<std::string>("vae", "");
  config.steps = reader.get<int64_t>("steps", config.steps, 1, 1000);
  return config;
}

ValidationScores validate_windows(const model::Transformer& transformer,
                                  const CaptionEncoder& captions, const WindowSource& source,
                                  const ValidationConfig& config, const WindowStages& stages,
                                  int64_t window_frames, uint64_t seed,
                                  Communicator& communicator) {
  const at::NoGradGuard no_grad;
  const int64_t chunk = transformer.config().chunk_size;
  Sums sums(transformer.config());
  for (int64_t i = communicator.rank(); i < config.windows; i += communicator.size()) {
    check_interrupt();
    const auto index = static_cast<uint64_t>(i);
    const Window window = source.window(index, window_frames);
    const WindowPass pass = prepare_window(window, transformer.config(), stages,
                                           hash_keys({seed, index}), transformer.device());
    const at::Tensor text = captions.encode(window.caption);
    PassOptions options;
    options.observers.on_retention = [&sums](int64_t layer, const at::Tensor& log_retention) {
      const at::Tensor kept = log_retention.gt(std::log(0.9)).to(at::kDouble);
      sums.add(fmt::format("retention_{}", layer), kept.mean().item<double>());
    };
    options.observers.on_recurrent = [&sums, rows = written_tokens(pass)](
                                         int64_t layer, const model::RecurrentInputs& inputs) {
      const at::Tensor keys = inputs.state_key.index_select(1, rows);
      sums.add(fmt::format("keys_{}", layer), memory::key_directions(memory::key_moments(keys)));
      sums.add(fmt::format("write_{}", layer),
               inputs.beta.index_select(1, rows).mean().item<double>());
    };
    const at::Tensor losses =
        chunk_losses(run_window(transformer, pass, text, options), pass.batch.target, chunk)[0];
    const at::Tensor read_off =
        chunk_losses(run_window(transformer, pass, text, {.readout = model::Readout::kOff}),
                     pass.batch.target, chunk)[0];
    const std::vector<std::optional<double>> gaps = return_gaps(window, chunk);
    for (int64_t c = 0; c < losses.size(0); ++c) {
      const auto loss = losses[c].item<double>();
      const auto level = pass.batch.levels[0][c].item<double>();
      const double below = std::min(1.0, std::floor(level * 5) / 5 + 0.2);
      sums.add("loss", loss);
      sums.add("loss_read_off", read_off[c].item<double>());
      sums.add(fmt::format("loss_noise_{:.1f}", below), loss);
      sums.add(gap_name(gaps[static_cast<size_t>(c)]), loss);
    }
  }
  return sums.means(communicator);
}

}  // namespace loci::train
