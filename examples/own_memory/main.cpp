// SPDX-License-Identifier: Apache-2.0
// loci with its own history policy and its own recurrent memory:
//
//   my_loci generate --model models/mini --trajectory look_around --history strided …
//   my_loci eval arena --model models/mini --histories sparse,strided …
//   my_loci train recipe.json     with "recurrent_memory": "hebbian" in the model's section
#include <loci/app/cli/command.h>
#include <loci/base/interrupt.h>
#include <loci/memory/history/history_registry.h>
#include <loci/memory/recurrent/recurrent_registry.h>

#include <deque>
#include <string>
#include <vector>

#include <ATen/ATen.h>

namespace {

using loci::memory::ChunkWrite;
using loci::memory::FrameRole;
using loci::memory::HistoryFrame;
using loci::memory::HistoryOptions;
using loci::memory::HistoryPolicy;
using loci::memory::RecurrentMemory;
using loci::memory::RetainedFrame;

// A history policy: frame 0, the recent frames, and between them frames at equal distances over the
// whole walk. The distance doubles whenever the budget is exceeded.
class Strided : public HistoryPolicy {
 public:
  explicit Strided(const HistoryOptions& options)
      : budget_(options.budget), recent_frames_(options.recent) {}

  std::string_view name() const override { return "strided"; }
  int64_t frame_budget() const override { return budget_; }

  void commit(const HistoryFrame& frame) override {
    recent_.push_back(frame);
    if (std::ssize(recent_) <= recent_frames_) return;
    const HistoryFrame leaving = recent_.front();
    recent_.pop_front();
    if (leaving.index % stride_ == 0) kept_.push_back(leaving);
    // Frame 0 is a multiple of every stride and stays.
    while (std::ssize(kept_) > budget_ - recent_frames_) {
      stride_ *= 2;
      std::erase_if(kept_, [this](const HistoryFrame& kept) { return kept.index % stride_ != 0; });
    }
  }

  std::vector<int64_t> select(std::span<const HistoryFrame>) const override { return retained(); }
  std::vector<int64_t> retained() const override {
    std::vector<int64_t> frames;
    for (const RetainedFrame& each : save()) frames.push_back(each.frame.index);
    return frames;
  }

  std::unique_ptr<HistoryPolicy> clone() const override { return std::make_unique<Strided>(*this); }

  // World files store the frames with their roles, and the stride as the detail of kept frames. The
  // page of `loci serve` colours frames by role.
  std::vector<RetainedFrame> save() const override {
    std::vector<RetainedFrame> saved;
    for (const HistoryFrame& frame : kept_) {
      saved.push_back({frame, frame.index == 0 ? FrameRole::kSink : FrameRole::kBank, stride_});
    }
    for (const HistoryFrame& frame : recent_) saved.push_back({frame, FrameRole::kRecent});
    return saved;
  }
  void restore(std::vector<RetainedFrame> frames) override {
    loci::memory::check_retained(frames, budget_, name());
    kept_.clear();
    recent_.clear();
    for (const RetainedFrame& each : frames) {
      if (each.role == FrameRole::kRecent) {
        recent_.push_back(each.frame);
      } else {
        kept_.push_back(each.frame);
        stride_ = std::max<int64_t>(each.detail, 1);
      }
    }
  }

 private:
  int64_t budget_, recent_frames_;
  int64_t stride_ = 1;              // between kept frames
  std::vector<HistoryFrame> kept_;  // ascending
  std::deque<HistoryFrame> recent_;
};

// A recurrent memory: per chunk S ← exp(g) S + (1/N) Kᵀ diag(β) V. Retention g and write strength β
// are learned; the readout Sᵀq is inherited.
class Hebbian : public RecurrentMemory {
 public:
  std::string_view name() const override { return "hebbian"; }

  at::Tensor write(const at::Tensor& state, const ChunkWrite& chunk,
                   const loci::camera::TokenGrid&) const override {
    const at::Tensor key = (chunk.key * chunk.beta.unsqueeze(-1)).transpose(1, 2);  // [B, H, N, D]
    const at::Tensor value = chunk.value.transpose(1, 2);
    const at::Tensor retention =
        chunk.log_retention.exp().squeeze(1).unsqueeze(-1);  // [B, H, D, 1]
    return retention * state +
           at::matmul(key.transpose(-1, -2), value) / static_cast<double>(chunk.key.size(1));
  }
};

}  // namespace

int main(int argc, char** argv) {
  loci::catch_interrupts();
  loci::memory::register_history(
      {"strided", "frames at equal distances over the whole walk, recent frames",
       [](const HistoryOptions& options) { return std::make_unique<Strided>(options); }});
  loci::memory::register_recurrent_memory({"hebbian", "decayed sum of key-value products",
                                           [] { return std::make_shared<const Hebbian>(); }});
  return loci::app::run({argv + 1, argv + argc});
}
