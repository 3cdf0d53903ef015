// SPDX-License-Identifier: Apache-2.0
// Prompts to embeddings: cleaned, tokenized, encoded, and remembered on disk, with the encoder in
// memory no longer than needed.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::model {

struct PromptOptions {
  std::filesystem::path encoder;    // folder or weights file of the text encoder
  std::filesystem::path tokenizer;  // folder or file; empty: the encoder's folder
  // Where embeddings are kept, made if absent; empty: nowhere.
  std::filesystem::path cache;
  int64_t text_len = 512;  // tokens; longer prompts are cut
  at::ScalarType compute = at::kFloat;
};

// Whether a model's folder has a text encoder.
bool has_prompt_files(const std::filesystem::path& model_folder);

// Where a Diffusers or an original Wan folder keeps its text encoder and tokenizer. Bad input lists
// what was looked for.
PromptOptions find_prompt_files(const std::filesystem::path& model_folder);

// One embedding [text_len, dim] FP32 a prompt, zeros after its last token. The encoder is loaded
// only if some prompt is not in the cache, and released before this returns.
std::vector<at::Tensor> encode_prompts(std::span<const std::string> prompts,
                                       const PromptOptions& options);

}  // namespace loci::model
