// SPDX-License-Identifier: Apache-2.0
// Prompts → embeddings: cleaning, tokenizing, encoding and a cache on disk. The encoder is in
// memory only while it is needed.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::model {

struct PromptOptions {
  std::filesystem::path encoder;    // folder or weights file of the text encoder
  std::filesystem::path tokenizer;  // folder or file; empty = the encoder's folder
  // Folder of cached embeddings, created if needed; empty = no cache.
  std::filesystem::path cache;
  int64_t text_len = 512;  // maximum number of tokens; longer prompts are truncated
  at::ScalarType compute = at::kFloat;
};

// Whether a model's folder has a text encoder.
bool has_prompt_files(const std::filesystem::path& model_folder);

// The text encoder and tokenizer of a Diffusers folder or an original Wan folder. Bad input if
// there are none; the error lists the expected files.
PromptOptions find_prompt_files(const std::filesystem::path& model_folder);

// One embedding [text_len, dim] FP32 per prompt, with zeros after its last token. The encoder is
// loaded only if a prompt is not in the cache, and released before the function returns.
std::vector<at::Tensor> encode_prompts(std::span<const std::string> prompts,
                                       const PromptOptions& options);

}  // namespace loci::model
