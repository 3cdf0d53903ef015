// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/networks/vision_names.h"

#include <array>
#include <optional>
#include <regex>

#include <ATen/ATen.h>

namespace loci::eval {

namespace {

struct Rule {
  std::regex pattern;
  std::string name;  // replacement with $1, $2, …
};

// In this order: original DINOv2, Hugging Face DINOv2, Hugging Face CLIP, original CLIP.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> list = [] {
    const std::array<std::pair<const char*, const char*>, 38> texts = {{
        {"cls_token", "class_token"},
        {"pos_embed", "positions"},
        {"register_tokens", "registers"},
        {"patch_embed\\.proj\\.(weight|bias)", "patch.$1"},
        {"blocks\\.(?:\\d+\\.)?(\\d+)\\.norm([12])\\.(weight|bias)", "blocks.$1.norm$2.$3"},
        {"blocks\\.(?:\\d+\\.)?(\\d+)\\.attn\\.qkv\\.(weight|bias)", "blocks.$1.qkv.$2"},
        {"blocks\\.(?:\\d+\\.)?(\\d+)\\.attn\\.proj\\.(weight|bias)", "blocks.$1.out.$2"},
        {"blocks\\.(?:\\d+\\.)?(\\d+)\\.ls([12])\\.gamma", "blocks.$1.scale$2"},
        {"blocks\\.(?:\\d+\\.)?(\\d+)\\.mlp\\.(fc[12])\\.(weight|bias)", "blocks.$1.$2.$3"},
        {"norm\\.(weight|bias)", "after.$1"},

        {"(?:dinov2\\.)?embeddings\\.cls_token", "class_token"},
        {"(?:dinov2\\.)?embeddings\\.position_embeddings", "positions"},
        {"(?:dinov2\\.)?embeddings\\.register_tokens", "registers"},
        {"(?:dinov2\\.)?embeddings\\.patch_embeddings\\.projection\\.(weight|bias)", "patch.$1"},
        {"(?:dinov2\\.)?encoder\\.layer\\.(\\d+)\\.norm([12])\\.(weight|bias)",
         "blocks.$1.norm$2.$3"},
        {"(?:dinov2\\.)?encoder\\.layer\\.(\\d+)\\.attention\\.attention\\.(query|key|value)\\."
         "(weight|bias)",
         "blocks.$1.$2.$3"},
        {"(?:dinov2\\.)?encoder\\.layer\\.(\\d+)\\.attention\\.output\\.dense\\.(weight|bias)",
         "blocks.$1.out.$2"},
        {"(?:dinov2\\.)?encoder\\.layer\\.(\\d+)\\.layer_scale([12])\\.lambda1",
         "blocks.$1.scale$2"},
        {"(?:dinov2\\.)?encoder\\.layer\\.(\\d+)\\.mlp\\.(fc[12])\\.(weight|bias)",
         "blocks.$1.$2.$3"},
        {"(?:dinov2\\.)?layernorm\\.(weight|bias)", "after.$1"},

        {"vision_model\\.embeddings\\.class_embedding", "class_token"},
        {"vision_model\\.embeddings\\.position_embedding\\.weight", "positions"},
        {"vision_model\\.embeddings\\.patch_embedding\\.(weight)", "patch.$1"},
        {"vision_model\\.pre_layrnorm\\.(weight|bias)", "before.$1"},
        {"vision_model\\.encoder\\.layers\\.(\\d+)\\.layer_norm([12])\\.(weight|bias)",
         "blocks.$1.norm$2.$3"},
        {"vision_model\\.encoder\\.layers\\.(\\d+)\\.self_attn\\.q_proj\\.(weight|bias)",
         "blocks.$1.query.$2"},
        {"vision_model\\.encoder\\.layers\\.(\\d+)\\.self_attn\\.k_proj\\.(weight|bias)",
         "blocks.$1.key.$2"},
        {"vision_model\\.encoder\\.layers\\.(\\d+)\\.self_attn\\.v_proj\\.(weight|bias)",
         "blocks.$1.value.$2"},
        {"vision_model\\.encoder\\.layers\\.(\\d+)\\.self_attn\\.out_proj\\.(weight|bias)",
         "blocks.$1.out.$2"},
        {"vision_model\\.encoder\\.layers\\.(\\d+)\\.mlp\\.(fc[12])\\.(weight|bias)",
         "blocks.$1.$2.$3"},
        {"vision_model\\.post_layernorm\\.(weight|bias)", "after.$1"},

        {"visual\\.class_embedding", "class_token"},
        {"visual\\.positional_embedding", "positions"},
        {"visual\\.conv1\\.(weight)", "patch.$1"},
        {"visual\\.ln_pre\\.(weight|bias)", "before.$1"},
        {"visual\\.ln_post\\.(weight|bias)", "after.$1"},
        {"visual\\.transformer\\.resblocks\\.(\\d+)\\.ln_([12])\\.(weight|bias)",
         "blocks.$1.norm$2.$3"},
        {"visual\\.transformer\\.resblocks\\.(\\d+)\\.attn\\.out_proj\\.(weight|bias)",
         "blocks.$1.out.$2"},
    }};
    std::vector<Rule> made;
    for (const auto& [pattern, name] : texts) made.push_back({std::regex(pattern), name});
    made.push_back({std::regex("visual\\.transformer\\.resblocks\\.(\\d+)\\.attn\\.in_proj_"
                               "(weight|bias)"),
                    "blocks.$1.qkv.$2"});
    made.push_back(
        {std::regex("visual\\.transformer\\.resblocks\\.(\\d+)\\.mlp\\.c_fc\\.(weight|bias)"),
         "blocks.$1.fc1.$2"});
    made.push_back(
        {std::regex("visual\\.transformer\\.resblocks\\.(\\d+)\\.mlp\\.c_proj\\.(weight|bias)"),
         "blocks.$1.fc2.$2"});
    return made;
  }();
  return list;
}

std::optional<std::string> plain_name(const std::string& name) {
  std::smatch match;
  for (const Rule& rule : rules()) {
    if (std::regex_match(name, match, rule.pattern)) return match.format(rule.name);
  }
  return std::nullopt;
}

// Concatenates query, key and value of each block to qkv.
void join_queries(std::map<std::string, at::Tensor>& tensors) {
  for (int64_t n = 0;; ++n) {
    const std::string block = "blocks." + std::to_string(n);
    if (!tensors.contains(block + ".query.weight")) return;
    for (const char* part : {".weight", ".bias"}) {
      std::vector<at::Tensor> three;
      for (const char* which : {".query", ".key", ".value"}) {
        const auto found = tensors.find(block + which + part);
        if (found == tensors.end()) return;
        three.push_back(found->second);
        tensors.erase(found);
      }
      tensors[block + ".qkv" + part] = at::cat(three, 0);
    }
  }
}

}  // namespace

std::map<std::string, at::Tensor> plain_vision_names(
    const std::map<std::string, at::Tensor>& weights) {
  std::map<std::string, at::Tensor> plain;
  for (const auto& [name, tensor] : weights) {
    // Hugging Face stores the projection as a linear layer, the original as its transpose.
    if (name == "visual_projection.weight") {
      plain["projection"] = tensor.t();
    } else if (name == "visual.proj") {
      plain["projection"] = tensor;
    } else if (const std::optional<std::string> known = plain_name(name)) {
      plain[*known] = tensor;
    }
  }
  join_queries(plain);
  for (const char* name : {"class_token", "positions", "registers"}) {
    const auto found = plain.find(name);
    if (found == plain.end()) continue;
    const at::Tensor rows = found->second.reshape({-1, found->second.size(-1)});
    found->second = std::string_view(name) == "class_token" ? rows[0] : rows;
  }
  return plain;
}

}  // namespace loci::eval
