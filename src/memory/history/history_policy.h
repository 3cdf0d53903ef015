// SPDX-License-Identifier: Apache-2.0
// Which frames of the past a chunk may attend to. One policy serves every layer and branch, and
// every model, so that memories can be compared under one budget.
#pragma once

#include <cstdint>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"

namespace loci::memory {

// Where a frame comes from: shown to the model (a picture, a recorded walk), or made by it.
enum class Origin : int64_t { kMade, kGiven };

struct FrameView {
  int64_t frame = 0;  // latent frame since the start of the stream
  camera::Pose pose;
  camera::Lens lens;
  Origin origin = Origin::kMade;
  // What the frame shows, for policies whose wants_content() asks for it: the mean of its tokens'
  // keys and queries in one layer, before rotary encoding. [heads, channels] FP32, else undefined.
  at::Tensor key, query;
};

// A frame that a policy holds on to, and as what; the policy knows the meaning.
struct HeldFrame {
  FrameView view;
  int64_t role = 0;
};

class HistoryPolicy {
 public:
  virtual ~HistoryPolicy() = default;

  virtual std::string_view name() const = 0;
  // Most frames a chunk ever sees beside its own; 0 = grows with the stream.
  virtual int64_t frame_budget() const = 0;
  // Bounded policies give their frames compact key times and commit slightly noised latents.
  bool bounded() const { return frame_budget() > 0; }
  // Most frames that retained() ever names; 0 = grows with the stream. More than the budget where
  // frames are kept aside to be retrieved later.
  virtual int64_t stored_frames() const { return frame_budget(); }
  // Whether commit() needs the key and the query of its frames.
  virtual bool wants_content() const { return false; }

  // A finished frame, in order from frame 0.
  virtual void commit(const FrameView& view) = 0;
  // The frames the next chunk sees, ascending. `upcoming` are the views of that chunk.
  virtual std::vector<int64_t> select(std::span<const FrameView> upcoming) const = 0;
  // Frames that may still be selected, ascending: the store may forget all others.
  virtual std::vector<int64_t> retained() const = 0;

  // An independent copy with the same past.
  virtual std::unique_ptr<HistoryPolicy> clone() const = 0;

  // Everything that decides the future, ascending by frame, and back into a new policy of the same
  // options. Frames that no past of this policy could have left are bad input.
  virtual std::vector<HeldFrame> save() const = 0;
  virtual void restore(std::vector<HeldFrame> frames) = 0;
};

// Every earlier frame.
std::unique_ptr<HistoryPolicy> make_dense_history();

struct PanoramaBankOptions {
  int64_t bank_frames = 20;
  int64_t recent_frames = 8;
  double new_coverage = 0.3;  // share of a frame's view that must be new for it to join
  double radius = 6;          // metres; views farther away do not cover
  bool pin_anchors = false;   // frames 1, 9, …, 73 always join and never leave: a bank of >= 10
  double aspect = 1.5;        // width / height of the frames
};

// {0} ∪ bank ∪ recent: the bank keeps frames that look where no other looks.
std::unique_ptr<HistoryPolicy> make_panorama_bank(const PanoramaBankOptions& options);

// The first frames and the newest ones, nothing between.
struct SinkWindowOptions {
  int64_t sink_frames = 6;
  int64_t recent_frames = 23;
};
std::unique_ptr<HistoryPolicy> make_sink_window(const SinkWindowOptions& options);

// {0} ∪ retrieved ∪ recent: frames that left the recent window go to an archive, from which every
// chunk retrieves those that suit its views best, in turn for each view.
struct RetrievalOptions {
  int64_t retrieved_frames = 20;
  int64_t recent_frames = 8;
  int64_t archive_frames = 0;  // 0 = no limit
  double radius = 6;           // metres, as for the bank
  double aspect = 1.5;
  // Of landmarks: as far from every other landmark as this, or turned as far.
  double landmark_distance = 1;                 // metres
  double landmark_turn = std::numbers::pi / 6;  // radians
};
// By the share of the upcoming view that an archived frame saw, less the farther away it stood, and
// half of that for frames which the model made; those that saw nothing of it are not retrieved.
// Over its limit, the archive forgets a frame whose view another one shows best.
std::unique_ptr<HistoryPolicy> make_overlap_retrieval(const RetrievalOptions& options);
// By nearness of pose, from an archive of landmarks only. Over its limit, the landmark nearest to
// another is forgotten.
std::unique_ptr<HistoryPolicy> make_landmarks(const RetrievalOptions& options);
// By the product of an archived frame's key with the queries of the recent frames, in turn for
// each. Over its limit, the archive forgets the oldest.
std::unique_ptr<HistoryPolicy> make_content_retrieval(const RetrievalOptions& options);

// Any of them by name, under one budget.
struct HistoryOptions {
  std::string kind = "sparse";
  int64_t budget = 29;  // frames beside the chunk's own; dense has none
  int64_t recent = 8;   // of them; a window has all but its sink
  // Frames kept aside for retrieval: 0 = all; landmarks: 256 unless given.
  int64_t archive = 0;
  double aspect = 1.5;

  // A budget with as many recent frames as usual, or all that it has beside the first frame.
  void set_budget(int64_t frames);
};
// dense, sparse (the panorama bank), pinned (with anchors), window, overlap, landmarks, content.
const std::vector<std::string>& history_names();
std::unique_ptr<HistoryPolicy> make_history(const HistoryOptions& options);

// For restore(): refuses frames that do not ascend, or more of them than `most` (0 = any number).
void check_held(const std::vector<HeldFrame>& frames, int64_t most, std::string_view policy);

}  // namespace loci::memory
