// SPDX-License-Identifier: Apache-2.0
// loci with a history policy of our own. Frame 0, the newest frames, and between them frames at
// even distances over the whole walk, which grow as the walk does:
//
//   my_loci generate --model models/mini --trajectory look_around --history strided …
//   my_loci eval arena --model models/mini --histories sparse strided …
#include <loci/app/cli/command.h>
#include <loci/base/interrupt.h>
#include <loci/memory/history/history_registry.h>

#include <deque>
#include <string>
#include <vector>

namespace {

using loci::memory::FrameView;
using loci::memory::HeldFrame;
using loci::memory::HistoryOptions;
using loci::memory::HistoryPolicy;

class Strided : public HistoryPolicy {
 public:
  explicit Strided(const HistoryOptions& options)
      : budget_(options.budget), recent_frames_(options.recent) {}

  std::string_view name() const override { return "strided"; }
  int64_t frame_budget() const override { return budget_; }

  void commit(const FrameView& view) override {
    recent_.push_back(view);
    if (static_cast<int64_t>(recent_.size()) <= recent_frames_) return;
    const FrameView leaving = recent_.front();
    recent_.pop_front();
    if (leaving.frame % stride_ == 0) kept_.push_back(leaving);
    // Over budget: double the distance. Frame 0 is a multiple of everything and stays.
    while (static_cast<int64_t>(kept_.size()) > budget_ - recent_frames_) {
      stride_ *= 2;
      std::erase_if(kept_, [this](const FrameView& kept) { return kept.frame % stride_ != 0; });
    }
  }

  std::vector<int64_t> select(std::span<const FrameView>) const override { return retained(); }
  std::vector<int64_t> retained() const override {
    std::vector<int64_t> frames;
    for (const HeldFrame& held : save()) frames.push_back(held.view.frame);
    return frames;
  }

  std::unique_ptr<HistoryPolicy> clone() const override { return std::make_unique<Strided>(*this); }

  // A world keeps the frames and, as a frame's role, the distance.
  std::vector<HeldFrame> save() const override {
    std::vector<HeldFrame> held;
    for (const FrameView& view : kept_) held.push_back({view, stride_});
    for (const FrameView& view : recent_) held.push_back({view, 0});
    return held;
  }
  void restore(std::vector<HeldFrame> frames) override {
    loci::memory::check_held(frames, budget_, name());
    kept_.clear();
    recent_.clear();
    for (const HeldFrame& held : frames) {
      if (held.role > 0) stride_ = held.role;
      held.role > 0 ? kept_.push_back(held.view) : recent_.push_back(held.view);
    }
  }

 private:
  int64_t budget_, recent_frames_;
  int64_t stride_ = 1;           // between kept frames
  std::vector<FrameView> kept_;  // ascending
  std::deque<FrameView> recent_;
};

}  // namespace

int main(int argc, char** argv) {
  loci::catch_interrupts();
  loci::memory::register_history(
      "strided", [](const HistoryOptions& options) { return std::make_unique<Strided>(options); });
  return loci::app::run({argv + 1, argv + argc});
}
