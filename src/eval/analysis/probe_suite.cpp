// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/analysis/probe_suite.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/output_path.h"
#include "loci/base/random.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/resample.h"
#include "loci/eval/metrics/ridge.h"
#include "loci/eval/suites/continuation.h"
#include "loci/eval/suites/continuation_suite.h"
#include "loci/eval/suites/runner.h"
#include "loci/io/tensors/safetensors.h"

namespace loci::eval {

namespace fs = std::filesystem;

namespace {

constexpr const char* kUntrained = ", untrained branch";

// A copy with newly initialised weights in the recurrent branches.
std::unique_ptr<model::Transformer> with_untrained_branch(const model::Transformer& trained) {
  const std::vector<model::Parameter>& all = trained.parameters().all();
  const auto find = [&](const std::string& name) -> at::Tensor {
    if (name.find(".kda.") != std::string::npos) return {};
    const auto found = std::find_if(all.begin(), all.end(), [&](const model::Parameter& parameter) {
      return parameter.name == name;
    });
    return found == all.end() ? at::Tensor() : found->tensor;
  };
  model::Parameters::Options options = trained.parameters().options();
  options.seed = 1;
  auto parameters = std::make_shared<model::Parameters>(options, find);
  auto transformer = std::make_unique<model::Transformer>(trained.config(), parameters);
  parameters->release_source();
  return transformer;
}

// sin and cos of the angle, which are continuous at ±180 degrees.
at::Tensor targets_of(const at::Tensor& yaw) { return at::stack({yaw.sin(), yaw.cos()}, 1); }

// By row: 1 - squared error / mean squared deviation. The mean over rows is R².
at::Tensor explained(const at::Tensor& predictions, const at::Tensor& targets) {
  const at::Tensor deviation = (targets - targets.mean(0)).square().sum(1).mean();
  return 1 - (predictions - targets).square().sum(1) / deviation;
}

// Mean over the tokens of a chunk of their latent patches: [1, C, F, h, w] → [C * p * p]. It does
// not depend on the camera.
at::Tensor mean_token(const at::Tensor& latents, int64_t patch) {
  return latents[0]
      .to(at::kDouble)
      .unflatten(3, {-1, patch})
      .unflatten(2, {-1, patch})
      .mean({1, 2, 4})
      .flatten();
}

// Predictions of a probe on the tensor `name` of the files.
at::Tensor predictions_from(const std::vector<io::SafetensorsFile>& files, const char* name,
                            const at::Tensor& targets, const std::vector<int64_t>& trajectories) {
  std::vector<at::Tensor> rows;
  for (const io::SafetensorsFile& file : files) rows.push_back(file.tensor(name));
  return ridge_predictions(at::cat(rows), targets, trajectories);
}

double degrees_of(const at::Tensor& sine_cosine) {
  return camera::degrees(std::atan2(sine_cosine[0].item<double>(), sine_cosine[1].item<double>()));
}

std::vector<double> rows_of(const at::Tensor& values, const std::vector<int64_t>& trajectories,
                            int64_t trajectory) {
  std::vector<double> rows;
  for (size_t i = 0; i < trajectories.size(); ++i) {
    if (trajectories[i] == trajectory) {
      rows.push_back(values[static_cast<int64_t>(i)].item<double>());
    }
  }
  return rows;
}

}  // namespace

at::Tensor invariant_summaries(const at::Tensor& states) {
  const at::Tensor wide = states.to(at::kDouble);
  const at::Tensor values = at::linalg_svdvals(wide);                      // [n, H, D]
  const at::Tensor norms = wide.square().sum({2, 3}).sqrt().unsqueeze(2);  // [n, H, 1]
  return at::cat({values, norms}, 2).flatten(1);
}

ProbeSuite::ProbeSuite(ProbeSetup setup) : setup_(std::move(setup)) {
  for (const ModelChoice& model : setup_.models) {
    if (!has_recurrent_states(sample::ModelFolder(model.path).config())) {
      fail("{} has no recurrent states; probe needs a model with recurrent states", model.name);
    }
  }
  clips_ = open_recordings(setup_.data, common_format(setup_.models, setup_.sampling),
                           {0, setup_.seconds, setup_.count});
  for (size_t i = 0; i < clips_->size(); ++i) {
    if (clips_->damage(i).empty() &&
        clips_->clip(i).new_frames() / clips_->format().grid.frames_per_chunk() <
            setup_.first_chunk) {
      fail("{} is shorter than {} chunks; reduce --first-chunk or record longer clips",
           clips_->clip(i).name, setup_.first_chunk);
    }
  }
  warn_of_captions(setup_.models, setup_.sampling, *clips_);
  if (clips_->size() < 3) {
    fail("{}: found {} recordings; expected at least 3", setup_.data.string(), clips_->size());
  }
}

Json ProbeSuite::settings() const {
  Json json = describe(setup_.models, {}, setup_.sampling);
  json["suite"] = "probe";
  json["data"] = data_fingerprint(setup_.data, setup_.out);
  json["first_chunk"] = setup_.first_chunk;
  json["permutations"] = setup_.permutations;
  json["seconds"] = setup_.seconds ? Json(*setup_.seconds) : Json();
  json["clips"] = clips();
  return json;
}

std::vector<VariantGroup> ProbeSuite::groups() const {
  std::vector<VariantGroup> groups;
  for (const ModelChoice& model : setup_.models) {
    groups.push_back({model.name, {model.name, model.name + kUntrained}});
  }
  return groups;
}

std::vector<std::pair<std::string, std::string>> ProbeSuite::pairs() const {
  std::vector<std::pair<std::string, std::string>> list;
  for (const ModelChoice& model : setup_.models) {
    list.emplace_back(model.name, model.name + kUntrained);
  }
  for (size_t i = 1; i < setup_.models.size(); ++i) {
    list.emplace_back(setup_.models[0].name, setup_.models[i].name);
  }
  return list;
}

std::vector<Metric> ProbeSuite::metrics() const {
  using Better = Metric::Better;
  return {{"r2", "R²", Better::kHigher, 3},
          {"error", "median error, °", Better::kLower, 1},
          {"r2_invariant", "R² of singular values and norms", Better::kHigher, 3},
          {"r2_permuted", "largest R² with permuted labels", Better::kNeither, 3},
          {"r2_past", "R² of the mean of all tokens", Better::kNeither, 3},
          {"r2_current", "R² of the current chunk's tokens", Better::kNeither, 3}};
}

std::vector<std::string> ProbeSuite::notes() const {
  std::vector<std::string> notes = {
      fmt::format(
          "States after chunk {} and later; recordings are replayed unchanged. Ridge regression "
          "predicts sin and cos of the yaw relative to the first frame, in five folds of whole "
          "recordings. R² is the mean over the hybrid layers. It is computed per state, so that "
          "the mean over states is the R² of all. The error is that of the mean prediction of "
          "the layers.",
          setup_.first_chunk),
      "For comparison: probes on the mean of all tokens so far and on the mean of the newest "
      "chunk's tokens, as they enter the model, before any camera information."};
  add_caption_note(setup_.models, setup_.sampling, *clips_, notes);
  return notes;
}

fs::path ProbeSuite::state_file(const std::string& variant, size_t clip) const {
  return setup_.out / "states" / file_name(variant) /
         (file_name(clips_->clip(clip).name) + ".safetensors");
}

void ProbeSuite::open(size_t group) {
  untrained_.reset();
  folder_.reset();
  open_ = group;
  folder_ = std::make_unique<sample::ModelFolder>(setup_.models[group].path, setup_.sampling.dtype);
  untrained_ = with_untrained_branch(folder_->transformer());
}

void ProbeSuite::replay(const model::Transformer& transformer, const std::string& variant,
                        size_t clip) const {
  const at::NoGradGuard no_grad;
  const EvalClip& recording = clips_->clip(clip);
  const ClipFormat& format = clips_->format();
  const at::Tensor latents =
      encoded_frames(folder_->vae(), *clips_, clip, recording.frames(), setup_.sampling.cache);
  const std::vector<camera::Camera> cameras =
      camera::latent_cameras(recording.trajectory.cameras, format.grid);
  sample::Stream stream(
      transformer, nullptr,
      stream_options(*folder_, {"own"}, setup_.sampling, format.width, format.height),
      prompt_for(*folder_, recording.caption, setup_.sampling));
  std::vector<std::vector<at::Tensor>> states(static_cast<size_t>(transformer.config().layers));
  std::vector<double> yaw;
  std::vector<at::Tensor> past, current;
  at::Tensor sum;  // of mean tokens, weighted by latent frames
  for (int64_t at = 0, chunk = 0; at < latents.size(2); ++chunk) {
    check_interrupt();
    const int64_t count =
        at == 0 ? 1 : std::min(format.grid.latents_per_chunk, latents.size(2) - at);
    const auto first = static_cast<size_t>(at), many = static_cast<size_t>(count);
    stream.accept(latents.narrow(2, at, count), std::span(cameras).subspan(first, many));
    stream.commit();
    const at::Tensor token = mean_token(latents.narrow(2, at, count), transformer.config().patch);
    at += count;
    const at::Tensor weighted = token * static_cast<double>(count);
    sum = sum.defined() ? sum + weighted : weighted;
    if (chunk < setup_.first_chunk) continue;
    past.push_back(sum / static_cast<double>(at));
    current.push_back(token);
    const camera::Pose seen =
        cameras.front().pose.inverse() * cameras[static_cast<size_t>(at - 1)].pose;
    yaw.push_back(seen.yaw());
    for (size_t layer = 0; layer < states.size(); ++layer) {
      const at::Tensor& state = stream.main().states().at(layer);
      if (state.defined()) states[layer].push_back(state[0].to(at::kFloat).clone());
    }
  }
  io::NamedTensors tensors = {{"yaw", at::tensor(yaw, at::TensorOptions(at::kDouble))},
                              {"past", at::stack(past)},
                              {"current", at::stack(current)}};
  for (size_t layer = 0; layer < states.size(); ++layer) {
    if (!states[layer].empty()) {
      tensors.emplace_back(fmt::format("layer.{}", layer), at::stack(states[layer]));
    }
  }
  const fs::path file = state_file(variant, clip);
  make_folders(file.parent_path());
  io::write_safetensors(file, tensors);
}

PartResult ProbeSuite::run(size_t clip) {
  check_usable(*clips_, clip);
  const std::string& name = setup_.models[open_].name;
  replay(folder_->transformer(), name, clip);
  replay(*untrained_, name + kUntrained, clip);
  return {};
}

void ProbeSuite::conclude(const std::string& variant, std::vector<PartResult*> parts) const {
  std::vector<io::SafetensorsFile> files;
  std::vector<at::Tensor> angles;
  std::vector<int64_t> trajectories;
  const std::vector<std::string> names = clips();
  for (size_t clip = 0; clip < parts.size(); ++clip) {
    const auto place = std::find(names.begin(), names.end(), parts[clip]->clip) - names.begin();
    files.push_back(io::SafetensorsFile::open(state_file(variant, static_cast<size_t>(place))));
    angles.push_back(files.back().tensor("yaw"));
    trajectories.insert(trajectories.end(), static_cast<size_t>(angles.back().numel()),
                        static_cast<int64_t>(clip));
  }
  const at::Tensor yaw = at::cat(angles), targets = targets_of(yaw);
  at::Tensor state_rows = at::zeros_like(yaw), invariant_rows = at::zeros_like(yaw);
  at::Tensor guesses = at::zeros_like(targets);
  std::vector<double> permuted(static_cast<size_t>(setup_.permutations), 0);
  // The targets, followed by their permutations.
  std::vector<at::Tensor> wanted = {targets};
  for (size_t p = 0; p < permuted.size(); ++p) {
    Random random{p, 0x7065726d};
    std::vector<int64_t> order(trajectories.size());
    for (size_t i = 0; i < order.size(); ++i) {
      const auto other = static_cast<size_t>(random.below(i + 1));
      order[i] = order[other];
      order[other] = static_cast<int64_t>(i);
    }
    wanted.push_back(targets.index_select(0, at::tensor(order, at::TensorOptions(at::kLong))));
  }
  int64_t layers = 0;
  for (const io::TensorInfo& info : files.front().tensors()) {
    if (!info.name.starts_with("layer.")) continue;
    check_interrupt();
    std::vector<at::Tensor> rows;
    for (const io::SafetensorsFile& file : files) rows.push_back(file.tensor(info.name));
    const at::Tensor states = at::cat(rows);
    const at::Tensor features = states.flatten(1).to(at::kDouble);
    const std::vector<at::Tensor> predictions = ridge_predictions(features, wanted, trajectories);
    guesses += predictions.front();
    state_rows += explained(predictions.front(), targets);
    invariant_rows +=
        explained(ridge_predictions(invariant_summaries(states), targets, trajectories), targets);
    for (size_t p = 0; p < permuted.size(); ++p) {
      permuted[p] += r_squared(predictions[p + 1], wanted[p + 1]);
    }
    ++layers;
  }
  const at::Tensor past_guesses = predictions_from(files, "past", targets, trajectories);
  const at::Tensor current_guesses = predictions_from(files, "current", targets, trajectories);
  const at::Tensor past = explained(past_guesses, targets);
  const at::Tensor current = explained(current_guesses, targets);
  const at::Tensor wrong = (at::atan2(guesses.select(1, 0), guesses.select(1, 1)) - yaw + 3 * M_PI)
                               .remainder(2 * M_PI)
                               .sub(M_PI)
                               .abs();
  for (size_t clip = 0; clip < parts.size(); ++clip) {
    const auto trajectory = static_cast<int64_t>(clip);
    MetricValues& values = parts[clip]->values[variant];
    values["r2"] = rows_of(state_rows / layers, trajectories, trajectory);
    values["r2_invariant"] = rows_of(invariant_rows / layers, trajectories, trajectory);
    values["r2_past"] = rows_of(past, trajectories, trajectory);
    values["r2_current"] = rows_of(current, trajectories, trajectory);
    std::vector<double> errors = rows_of(wrong, trajectories, trajectory);
    std::nth_element(errors.begin(), errors.begin() + std::ssize(errors) / 2, errors.end());
    values["error"] = {camera::degrees(errors[errors.size() / 2])};
    if (!permuted.empty()) {
      values["r2_permuted"] = {*std::max_element(permuted.begin(), permuted.end()) /
                               static_cast<double>(layers)};
    }
    Curve truth{"yaw", {}}, state{"state", {}}, mean{"past", {}}, newest{"current", {}};
    double chunk = 0;
    for (size_t i = 0; i < trajectories.size(); ++i) {
      if (trajectories[i] != trajectory) continue;
      const auto row = static_cast<int64_t>(i);
      truth.points.emplace_back(chunk, camera::degrees(yaw[row].item<double>()));
      state.points.emplace_back(chunk, degrees_of(guesses[row]));
      mean.points.emplace_back(chunk, degrees_of(past_guesses[row]));
      newest.points.emplace_back(chunk, degrees_of(current_guesses[row]));
      chunk += 1;
    }
    parts[clip]->curves[variant] = {truth, state, mean, newest};
  }
}

void ProbeSuite::conclude(std::vector<PartResult>& parts) {
  for (const VariantGroup& group : groups()) {
    std::vector<PartResult*> own;
    for (PartResult& part : parts) {
      if (part.group == group.name) own.push_back(&part);
    }
    for (const std::string& variant : group.variants) conclude(variant, own);
  }
}

std::vector<std::vector<PlotPanel>> ProbeSuite::plots(const std::vector<PartResult>& parts) const {
  constexpr size_t kMaxPanels = 3;
  std::vector<PlotPanel> panels;
  for (const PartResult& part : parts) {
    if (part.group != setup_.models.front().name || panels.size() == kMaxPanels) continue;
    const auto found = part.curves.find(part.group);
    if (found == part.curves.end()) continue;  // a partial report
    const std::vector<Curve>& curves = found->second;
    panels.push_back({"yaw, °: " + part.clip,
                      "chunks since the first state",
                      {{"camera", curves[0].points},
                       {"from the states", curves[1].points},
                       {"from the mean of all tokens", curves[2].points},
                       {"from the current chunk's tokens", curves[3].points}},
                      /*from_zero=*/false});
  }
  return {panels};
}

}  // namespace loci::eval
