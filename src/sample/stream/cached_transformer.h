// SPDX-License-Identifier: Apache-2.0
// A transformer with its key-value store and recurrent states. It opens chunk after chunk, computes
// velocities without changing its past, and commits finished chunks to the store and the states.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/memory/history/history_planner.h"
#include "loci/memory/kv/kv_store.h"
#include "loci/model/transformer/transformer.h"

namespace loci::sample {

// Storage of the key-value store; see memory::KvLayout.
struct KvOptions {
  memory::KvFormat format = memory::KvFormat::kPlain;
  bool offload_main = false;
  int64_t staging_bytes = 0;  // 0 = no limit
};

// Options of a single velocity call, for analyses: another readout than the stream's, and an
// observer of the softmax layers.
struct Inspection {
  std::optional<model::Readout> readout;
  model::OnAttention on_attention;
};

class CachedTransformer {
 public:
  // The model must outlive this object. `text` comes from model.text_keys() and may be replaced
  // between chunks.
  CachedTransformer(const model::Transformer& model, camera::TokenGrid grid, model::TextKeys text,
                    std::unique_ptr<memory::HistoryPolicy> policy, const KvOptions& kv = {});
  // An independent copy with the same past. An open chunk is not copied.
  std::unique_ptr<CachedTransformer> fork() const;

  // Additional context of the open chunk, which all its queries see.
  struct Context {
    // Latents [B, C, F, h, w] at the times and cameras of the chunk's frames, whose tokens no block
    // updates. Tokens that are zero everywhere are holes, which nothing sees. Undefined: none.
    at::Tensor memory;
    // A clean frame [B, C, 1, h, w] with its number and cameras. Undefined: none.
    at::Tensor frame;
    int64_t index = 0;
    std::vector<camera::Camera> cameras;
  };
  void set_context(const Context& context);

  // Prepares the next chunk: its geometry and visible history, shared by all denoising steps and
  // the commit pass. The first chunk has one frame, or the model's chunk size if the model
  // generates it together with the given frame. Later chunks have the chunk size, or fewer frames
  // at the end of a recording. Every frame has as many cameras as the model's projections need.
  // Poses are camera to world; they are made relative to the first frame.
  void open_chunk(std::span<const camera::Camera> cameras);

  // Velocity of the open chunk's latents [B, C, F, h, w] at timesteps [B, F]. Reads states and
  // store and writes neither. NaN and infinite values are an error that names the chunk and the
  // layer.
  // `target_timesteps` [B, F] are those to which the denoising step leads, for models that use
  // them.
  at::Tensor velocity(const at::Tensor& latents, const at::Tensor& timesteps,
                      const Inspection& inspection = {},
                      const at::Tensor& target_timesteps = {}) const;

  // The commit pass: a forward pass of the finished latents that writes keys, values and states. It
  // closes the chunk.
  void commit(const at::Tensor& latents, const at::Tensor& timesteps,
              memory::Origin origin = memory::Origin::kGenerated) {
    prepare_commit(latents, timesteps);
    finish_commit(origin);
  }
  // The commit in two steps, so that several objects commit together or not at all.
  // prepare_commit() can fail; finish_commit() applies the result and cannot. After an error in
  // prepare_commit(), or after cancel_commit(), the past is unchanged.
  void prepare_commit(const at::Tensor& latents, const at::Tensor& timesteps);
  void finish_commit(memory::Origin origin);
  void cancel_commit();

  // The actions [B, F, action_dim] of the open chunk, and the embodiments [B] (may be undefined),
  // for models with actions. Without a call the chunk has none.
  void set_actions(const at::Tensor& actions, const at::Tensor& embodiments);

  void set_text(model::TextKeys text) { text_ = std::move(text); }
  // `seed` determines the directions of Readout::kRandom, which are equal for all steps of a chunk.
  void set_readout(model::Readout readout, uint64_t seed = 0) {
    readout_ = readout;
    readout_seed_ = seed;
  }
  // Sets the recurrent states to zero; the key-value store is unchanged.
  void reset_states();

  // The past as named tensors for a file, without text, readout and model. restore() expects the
  // same model, grid and policy; tensors that do not fit are bad input. It drops an open chunk.
  std::map<std::string, at::Tensor> save() const;
  void restore(const std::map<std::string, at::Tensor>& tensors);

  int64_t next_frame() const { return planner_.next_frame(); }
  // Pose of the first frame in the world; none before the first chunk was opened.
  std::optional<camera::Pose> first_pose() const;
  // The visible history of the open chunk.
  const std::vector<int64_t>& visible() const;
  const memory::HistoryPolicy& policy() const { return planner_.policy(); }
  const memory::KvStore& store() const { return store_; }
  // By layer; undefined for softmax blocks and before the first commit.
  const std::vector<at::Tensor>& states() const { return states_; }
  // Mean retention of the newest commit; none without states or commits.
  std::optional<double> retention() const { return retention_; }
  // Bytes that the open chunk holds in addition to the store.
  int64_t staged_bytes() const { return chunk_ ? chunk_->past.staged_bytes() : 0; }

 private:
  struct OpenChunk {
    memory::PlannedChunk planned;
    model::TokenMaps maps;
    model::PastKeys past;
    model::Conditions conditions;
    std::optional<model::FixedKeys> fixed;
  };
  struct Prepared {
    std::vector<at::Tensor> states;
    at::Tensor latents;  // of the chunk, if the history is computed from latents
    std::optional<model::ContentProbe> probe;
    std::optional<double> retention;
  };
  // Throws an error that names the chunk and the first layer with NaN or infinite values.
  [[noreturn]] void report_not_finite(const at::Tensor& latents, const at::Tensor& timesteps) const;
  std::string chunk_name() const;
  // Whether keys and values of the history are computed again for each chunk.
  bool recomputes() const {
    return model_.config().history_keys == model::HistoryKeys::kRecomputed;
  }
  // The poses that the model's maps use.
  std::vector<camera::Camera> map_cameras(std::span<const camera::Camera> cameras) const;
  // Fills the store with the keys and values of the visible frames, computed from their latents.
  void recompute(const memory::VisibleHistory& visible);
  // Shares only tensors that are never modified.
  CachedTransformer(const CachedTransformer& other);
  model::ForwardContext context() const;

  const model::Transformer& model_;
  camera::TokenGrid grid_;
  model::TextKeys text_;
  memory::HistoryPlanner planner_;
  memory::KvStore store_;
  std::vector<at::Tensor> states_;
  // By frame, [B, C, 1, h, w]: the retained frames, if the history is computed from latents.
  std::map<int64_t, at::Tensor> latents_;
  model::Readout readout_ = model::Readout::kOn;
  uint64_t readout_seed_ = 0;
  std::optional<OpenChunk> chunk_;
  std::optional<Prepared> prepared_;
  std::optional<double> retention_;
};

}  // namespace loci::sample
