// SPDX-License-Identifier: Apache-2.0
// Names of transformer weights in the checkpoints of different programs.
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

// Whether a checkpoint of that layout contains only the Wan base.
inline bool is_plain(WeightLayout layout) {
  return layout == WeightLayout::kWan || layout == WeightLayout::kDiffusers;
}

// The part of the model that a parameter belongs to, by its name in the release layout.
enum class ModelPart { kBase, kCamera, kRecurrent };
ModelPart part_of(std::string_view name);

// The layout of a checkpoint with these names. Unknown names are ignored.
WeightLayout detect_layout(std::span<const std::string> names);

// The release's name of a tensor whose name is `name` in any layout; empty for tensors that are
// ignored on purpose (negative_embeddings, action_head,
// subject_ref_*). Unknown names pass unchanged.
std::string to_release_name(std::string_view name);

// The inverse. Empty if the layout does not have the parameter (LOCI's branches in a plain layout).
std::string from_release_name(std::string_view name, WeightLayout layout);

}  // namespace loci::model
