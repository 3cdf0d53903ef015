// SPDX-License-Identifier: Apache-2.0
// A transformer with a past: opens chunk after chunk, answers velocities without changing anything,
// and commits finished chunks to its recurrent states and its key-value store.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/memory/history/history_policy.h"
#include "loci/memory/kv/kv_store.h"
#include "loci/model/transformer/transformer.h"

namespace loci::sample {

// How the key-value store of a stream keeps its numbers; see memory::KvLayout.
struct KvOptions {
  memory::KvFormat format = memory::KvFormat::kPlain;
  bool offload_main = false;
  int64_t staging_bytes = 0;  // 0 = no limit
};

// A velocity asked for to look at it: the stream's own readout or another one for this once, and
// what softmax layers attend with.
struct Inspection {
  std::optional<model::Readout> readout;
  model::OnAttention on_attention;
};

class ModelStream {
 public:
  // The model must outlive the stream. `text` comes from model.text_keys() and may be replaced
  // between chunks.
  ModelStream(const model::Transformer& model, camera::TokenGrid grid, model::TextKeys text,
              std::unique_ptr<memory::HistoryPolicy> policy, const KvOptions& kv = {});
  // An independent stream with the same past; the open chunk, if any, is not copied.
  std::unique_ptr<ModelStream> fork() const;

  // Prepares the next chunk: its geometry and the history it sees, shared by every step and the
  // commit. The first chunk is one frame; later ones have the model's chunk size, or less where a
  // recorded past does not fill them. Poses are of the world; the stream makes them relative to
  // its first frame.
  void open_chunk(std::span<const camera::Camera> cameras);

  // Velocity of the open chunk's latents [B, C, F, h, w] at timesteps [B, F]. Reads states and
  // store, writes neither. Numbers that are not finite fail the check, naming chunk and layer.
  at::Tensor velocity(const at::Tensor& latents, const at::Tensor& timesteps,
                      const Inspection& inspection = {}) const;

  // Forward of the finished latents that writes keys, values and states, and closes the chunk.
  void commit(const at::Tensor& latents, const at::Tensor& timesteps,
              memory::Origin origin = memory::Origin::kMade) {
    prepare_commit(latents, timesteps);
    finish_commit(origin);
  }
  // The same in two parts, so that several streams commit together or not at all: all that can
  // fail, then all that takes effect. An error in the first part, or cancel_commit() after it,
  // leaves the stream as it was.
  void prepare_commit(const at::Tensor& latents, const at::Tensor& timesteps);
  void finish_commit(memory::Origin origin);
  void cancel_commit();

  void set_text(model::TextKeys text) { text_ = std::move(text); }
  // `seed` decides the directions of Readout::kRandom; they are the same for all steps of a chunk.
  void set_readout(model::Readout readout, uint64_t seed = 0) {
    readout_ = readout;
    readout_seed_ = seed;
  }
  // Forgets what the recurrent states hold; the key-value store stays.
  void reset_states();

  // Everything that decides the future but text, readout and the model itself, as named tensors for
  // a file; back into a new stream of the same model, grid and policy. What does not fit is bad
  // input. The open chunk, if any, is dropped.
  std::map<std::string, at::Tensor> save() const;
  void restore(const std::map<std::string, at::Tensor>& tensors);

  int64_t next_frame() const { return next_frame_; }
  // Pose of the stream's first frame in the world; none before it was opened.
  std::optional<camera::Pose> first_pose() const;
  // Frames the open chunk sees beside its own.
  const std::vector<int64_t>& visible() const;
  const memory::HistoryPolicy& policy() const { return *policy_; }
  const memory::KvStore& store() const { return store_; }
  // By layer; undefined for softmax blocks and before the first commit.
  const std::vector<at::Tensor>& states() const { return states_; }
  // Mean share of the states that the newest commit kept; nothing without states or a commit.
  std::optional<double> retention() const { return retention_; }
  // Bytes that the open chunk holds of its history beside the store.
  int64_t staged_bytes() const { return chunk_ ? chunk_->past.staged_bytes() : 0; }

 private:
  struct OpenChunk {
    std::vector<memory::FrameView> views;
    std::vector<int64_t> visible;
    model::TokenMaps maps;
    model::PastKeys past;
  };
  struct Prepared {
    std::vector<at::Tensor> states;
    std::optional<model::ContentProbe> probe;
    std::optional<double> retention;
  };
  // Names the chunk and the layer in which numbers stop being finite.
  [[noreturn]] void report_not_finite(const at::Tensor& latents, const at::Tensor& timesteps) const;
  std::string chunk_name() const;
  // Shares nothing that either stream writes to.
  ModelStream(const ModelStream& other);
  model::ForwardContext context() const;

  const model::Transformer& model_;
  camera::TokenGrid grid_;
  model::TextKeys text_;
  std::unique_ptr<memory::HistoryPolicy> policy_;
  memory::KvStore store_;
  std::vector<at::Tensor> states_;
  model::Readout readout_ = model::Readout::kOn;
  uint64_t readout_seed_ = 0;
  std::optional<camera::Pose> world_to_first_;
  int64_t next_frame_ = 0;
  std::optional<OpenChunk> chunk_;
  std::optional<Prepared> prepared_;
  std::optional<double> retention_;
};

}  // namespace loci::sample
