// SPDX-License-Identifier: Apache-2.0
// The names that transformer weights have in checkpoints of different programs.
//
//   release     blocks.0.attn1.to_q.weight, blocks.0.camera_attn.…, blocks.0.kda.…
//   training    model.blocks.0.attn1.to_q.weight, ….cam_self_attn.…, ….attn1.gdn.…
//   wan         blocks.0.self_attn.q.weight: original Wan2.2, no camera or recurrent branches
//   diffusers   the release's names without those branches
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace loci::model {

enum class WeightLayout { kRelease, kTraining, kWan, kDiffusers };

inline constexpr std::array kWeightLayouts = {WeightLayout::kRelease, WeightLayout::kTraining,
                                              WeightLayout::kWan, WeightLayout::kDiffusers};

// "release", "training", "wan" or "diffusers".
std::string_view name_of(WeightLayout layout);

// Whether a checkpoint of that layout holds the Wan base alone.
inline bool is_plain(WeightLayout layout) {
  return layout == WeightLayout::kWan || layout == WeightLayout::kDiffusers;
}

// Which part of the model a parameter belongs to, by its name in the release layout.
enum class ModelPart { kBase, kCamera, kRecurrent };
ModelPart part_of(std::string_view name);

// The layout of a checkpoint with these names. Names that no layout has do not matter.
WeightLayout detect_layout(std::span<const std::string> names);

// The release's name of a tensor that any of the layouts calls `name`; empty for tensors that are
// left out on purpose (negative_embeddings). Names that no layout has pass unchanged.
std::string to_release_name(std::string_view name);

// The other way round. A plain layout has no name, "", for parts other than the base.
std::string from_release_name(std::string_view name, WeightLayout layout);

}  // namespace loci::model
