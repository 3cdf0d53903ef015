// SPDX-License-Identifier: Apache-2.0
#include "loci/model/weights/weight_names.h"

#include <algorithm>
#include <utility>

namespace loci::model {

namespace {

// The release's name and the other name.
using Pair = std::pair<std::string_view, std::string_view>;

// Prefixes of whole names.
constexpr std::array kWanTop = {
    Pair{"condition_embedder.time_embedder.linear_1.", "time_embedding.0."},
    Pair{"condition_embedder.time_embedder.linear_2.", "time_embedding.2."},
    Pair{"condition_embedder.time_proj.", "time_projection.1."},
    Pair{"condition_embedder.text_embedder.linear_1.", "text_embedding.0."},
    Pair{"condition_embedder.text_embedder.linear_2.", "text_embedding.2."},
    Pair{"condition_embedder.target_embedder.linear_1.", "delta_embedding.0."},
    Pair{"condition_embedder.target_embedder.linear_2.", "delta_embedding.2."},
    Pair{"proj_out.", "head.head."},
    Pair{"scale_shift_table", "head.modulation"},
};

// Prefixes after "blocks.N.".
constexpr std::array kWanBlock = {
    Pair{"attn1.to_q.", "self_attn.q."},
    Pair{"attn1.to_k.", "self_attn.k."},
    Pair{"attn1.to_v.", "self_attn.v."},
    Pair{"attn1.to_out.0.", "self_attn.o."},
    Pair{"attn1.to_out_prope.0.", "self_attn.prope_o."},
    Pair{"attn1.norm_q.", "self_attn.norm_q."},
    Pair{"attn1.norm_k.", "self_attn.norm_k."},
    Pair{"attn2.to_q.", "cross_attn.q."},
    Pair{"attn2.to_k.", "cross_attn.k."},
    Pair{"attn2.to_v.", "cross_attn.v."},
    Pair{"attn2.to_out.0.", "cross_attn.o."},
    Pair{"attn2.norm_q.", "cross_attn.norm_q."},
    Pair{"attn2.norm_k.", "cross_attn.norm_k."},
    // The only norm with weights: the third norm of the original, the second of the release.
    Pair{"norm2.", "norm3."},
    Pair{"ffn.net.0.proj.", "ffn.0."},
    Pair{"ffn.net.2.", "ffn.2."},
    Pair{"scale_shift_table", "modulation"},
};

constexpr std::array kTrainingBlock = {Pair{"camera_attn.", "cam_self_attn."},
                                       Pair{"kda.", "attn1.gdn."}};

constexpr std::string_view kTrainingPrefix = "model.";
// Prefixes that other programs put before every name, one after the other.
constexpr std::array<std::string_view, 6> kPrefixes = {
    "generator_ema.", "generator.", "diffusion_model.", "pipe.", "dit.", kTrainingPrefix};
// A part of names that training programs insert for modules that they distribute.
constexpr std::string_view kWrapped = "_fsdp_wrapped_module.";
constexpr std::string_view kDropped = "negative_embeddings";
// Head of Astronex-World that predicts actions, which is not trained, and embeddings of
// Matrix-Game's references, which are inputs of a pass.
constexpr std::array<std::string_view, 2> kDroppedParts = {"action_head.", "subject_ref_"};

// The prefix "blocks.12." of a block's parameter, otherwise "".
std::string_view block_prefix(std::string_view name) {
  constexpr std::string_view kBlocks = "blocks.";
  if (!name.starts_with(kBlocks)) return {};
  const size_t dot = name.find('.', kBlocks.size());
  if (dot == std::string_view::npos) return {};
  const std::string_view index = name.substr(kBlocks.size(), dot - kBlocks.size());
  const bool digits = !index.empty() && std::all_of(index.begin(), index.end(),
                                                    [](char c) { return c >= '0' && c <= '9'; });
  return digits ? name.substr(0, dot + 1) : std::string_view();
}

enum class Direction { kToRelease, kFromRelease };

// Replaces the prefix of `rest` by the table; true if an entry matched.
template <size_t N>
bool rename(std::string& rest, const std::array<Pair, N>& table, Direction direction) {
  for (const auto& [release, other] : table) {
    const std::string_view from = direction == Direction::kToRelease ? other : release;
    const std::string_view to = direction == Direction::kToRelease ? release : other;
    // An entry without a dot at its end matches the whole name only.
    const bool fits = from.ends_with('.') ? std::string_view(rest).starts_with(from) : rest == from;
    if (!fits) continue;
    rest = std::string(to) + rest.substr(from.size());
    return true;
  }
  return false;
}

std::string without_prefix(std::string_view name) {
  std::string bare(name);
  for (size_t at = bare.find(kWrapped); at != std::string::npos; at = bare.find(kWrapped)) {
    bare.erase(at, kWrapped.size());
  }
  const auto strip = [&](std::string_view prefix) {
    const bool there = bare.starts_with(prefix);
    if (there) bare.erase(0, prefix.size());
    return there;
  };
  while (std::ranges::any_of(kPrefixes, strip)) {
  }
  return bare;
}

// Whether a parameter belongs to a branch that only LOCI has.
bool in_own_branch(std::string_view name) {
  const std::string_view rest = name.substr(block_prefix(name).size());
  return rest.size() != name.size() &&
         (rest.starts_with("camera_attn.") || rest.starts_with("kda."));
}

}  // namespace

std::string_view name_of(WeightLayout layout) {
  switch (layout) {
    case WeightLayout::kRelease:
      return "release";
    case WeightLayout::kTraining:
      return "training";
    case WeightLayout::kWan:
      return "wan";
    case WeightLayout::kDiffusers:
      break;
  }
  return "diffusers";
}

ModelPart part_of(std::string_view name) {
  const std::string_view rest = name.substr(block_prefix(name).size());
  if (rest.size() == name.size()) return ModelPart::kBase;
  if (rest.starts_with("camera_attn.") || rest.starts_with("attn1.to_out_prope.")) {
    return ModelPart::kCamera;
  }
  if (rest.starts_with("kda.")) return ModelPart::kRecurrent;
  return ModelPart::kBase;
}

WeightLayout detect_layout(std::span<const std::string> names) {
  bool branches = false, prefixed = false, wan = false;
  for (const std::string& name : names) {
    const std::string release = to_release_name(name);
    branches = branches || in_own_branch(release);
    prefixed = prefixed || name.starts_with(kTrainingPrefix);
    wan = wan || (release != without_prefix(name) && !in_own_branch(release) && !release.empty());
  }
  if (branches) return prefixed ? WeightLayout::kTraining : WeightLayout::kRelease;
  return wan ? WeightLayout::kWan : WeightLayout::kDiffusers;
}

std::string to_release_name(std::string_view name) {
  const std::string bare = without_prefix(name);
  if (bare == kDropped || std::ranges::any_of(kDroppedParts, [&](std::string_view part) {
        return bare.starts_with(part);
      })) {
    return {};
  }
  const std::string_view block = block_prefix(bare);
  std::string rest = bare.substr(block.size());
  if (block.empty()) {
    rename(rest, kWanTop, Direction::kToRelease);
  } else if (!rename(rest, kTrainingBlock, Direction::kToRelease)) {
    rename(rest, kWanBlock, Direction::kToRelease);
  }
  return std::string(block) + rest;
}

std::string from_release_name(std::string_view name, WeightLayout layout) {
  if (is_plain(layout) && in_own_branch(name)) return {};
  const std::string_view block = block_prefix(name);
  std::string rest(name.substr(block.size()));
  if (layout == WeightLayout::kWan) {
    if (block.empty()) {
      rename(rest, kWanTop, Direction::kFromRelease);
    } else {
      rename(rest, kWanBlock, Direction::kFromRelease);
    }
  } else if (layout == WeightLayout::kTraining) {
    if (!block.empty()) rename(rest, kTrainingBlock, Direction::kFromRelease);
    return std::string(kTrainingPrefix) + std::string(block) + rest;
  }
  return std::string(block) + rest;
}

}  // namespace loci::model
