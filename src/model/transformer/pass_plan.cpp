// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/pass_plan.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/model/transformer/layers.h"

namespace loci::model {

namespace {

enum class Keys { kMain, kCamera, kLocal };

// For each chunk the tokens whose keys it sees: earlier frames, then the chunk itself.
kernels::SharedSpans window_spans(const Visibility& visible, Keys keys) {
  const int64_t tokens = visible.maps->grid.tokens();
  std::vector<kernels::AttentionSpan> spans;
  const at::Tensor hidden =
      visible.hidden.defined() ? visible.hidden.to(at::kCPU).contiguous() : at::Tensor();
  const auto add = [&](kernels::AttentionSpan& span, int64_t token) {
    if (!hidden.defined() || !hidden.const_data_ptr<bool>()[token]) span.keys.push_back(token);
  };
  for (const ChunkSpan& chunk : visible.chunks) {
    kernels::AttentionSpan span{.begin = chunk.begin * tokens, .end = chunk.end * tokens};
    if (keys != Keys::kLocal) {
      for (const int64_t frame : chunk.earlier) {
        for (int64_t i = 0; i < tokens; ++i) add(span, frame * tokens + i);
      }
      // Keys of the camera branch have no time.
      if (keys == Keys::kMain && !chunk.earlier.empty()) span.rotation = chunk.rotation;
    }
    for (int64_t token = span.begin; token < span.end; ++token) add(span, token);
    spans.push_back(std::move(span));
  }
  return std::make_shared<const std::vector<kernels::AttentionSpan>>(std::move(spans));
}

}  // namespace

PassPlan::PassPlan(const Visibility& visible, const StateAccess& memory,
                   const memory::RecurrentMemory* recurrent, at::ScalarType compute)
    : compute(compute),
      maps(visible.maps),
      absolute(visible.maps->absolute.defined() ? visible.maps->absolute.to(compute)
                                                : at::Tensor()),
      past(visible.past),
      fixed(visible.fixed),
      readout(memory.readout),
      readout_seed(memory.readout_seed),
      writes(visible.chunks.size() > 1 || memory.write_states),
      write_last(memory.write_states),
      retention_chunks(std::ssize(visible.chunks) - (memory.write_states ? 0 : 1)),
      store(memory.store),
      store_first(memory.store_first) {
  LOCI_CHECK(past == nullptr || visible.chunks.size() == 1,
             "a stored past belongs to a single chunk, the input has {}", visible.chunks.size());
  LOCI_CHECK(fixed == nullptr || visible.chunks.size() == 1,
             "fixed keys belong to a single chunk, the input has {}", visible.chunks.size());
  LOCI_CHECK(!visible.hidden.defined() || (past == nullptr && fixed == nullptr),
             "hidden tokens cannot be combined with a past or fixed keys");
  if (!visible.frames_without_text.empty()) {
    text_mask = at::ones({maps->frames, maps->grid.tokens()}, at::kFloat);
    for (const int64_t frame : visible.frames_without_text) text_mask[frame].zero_();
    text_mask = text_mask.view({1, -1, 1}).to(maps->rotary.cosine.device(), compute);
  }
  if (visible.chunks.size() > 1 || visible.hidden.defined()) {
    main_spans = window_spans(visible, Keys::kMain);
    camera_spans = window_spans(visible, Keys::kCamera);
    if (recurrent != nullptr) local_spans = window_spans(visible, Keys::kLocal);
  }
  if (recurrent == nullptr) return;
  const int64_t tokens = maps->grid.tokens();
  for (const ChunkSpan& chunk : visible.chunks) {
    chunk_ends.push_back(chunk.end * tokens);
    chunk_tokens.push_back((chunk.end - chunk.begin) * tokens);
  }
  if (!writes || std::ranges::all_of(visible.chunks, &ChunkSpan::written)) return;
  std::vector<at::Tensor> beta_rows, retention_rows;
  for (size_t i = 0; i < visible.chunks.size(); ++i) {
    const bool written = visible.chunks[i].written;
    beta_rows.push_back(at::full({chunk_tokens[i]}, written, at::kBool));
    if (static_cast<int64_t>(i) == retention_chunks) continue;
    const int64_t rows = recurrent->retention_rows(chunk_tokens[i], maps->grid);
    retention_rows.push_back(at::full({rows}, written, at::kBool));
  }
  const auto options = at::TensorOptions(visible.maps->rotary.cosine.device()).dtype(wide(compute));
  beta_mask = at::cat(beta_rows).to(options).view({1, -1, 1});
  retention_mask = at::cat(retention_rows).to(options).view({1, -1, 1, 1});
}

}  // namespace loci::model
