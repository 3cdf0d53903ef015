// SPDX-License-Identifier: Apache-2.0
// What a client asks for when it begins a walk or a video, checked against models and limits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loci/serve/engine/models.h"
#include "loci/serve/net/limits.h"
#include "loci/serve/protocol/client_messages.h"
#include "loci/serve/storage/chunk_record.h"
#include "loci/serve/storage/world_folder.h"
#include "loci/serve/walk/starts.h"
#include "loci/serve/walk/tour.h"

namespace loci::serve {

struct WorldRequest {
  std::string world;                 // go on with it; the rest is then without meaning
  std::optional<StartChoice> start;  // absent: the first one
  std::string picture;               // JPEG or PNG, before `start`
  double tour_seconds = 0;           // of the start, a place, shown before the client takes over
  std::optional<std::string> prompt;
  std::string negative;
  double guidance = 1;
  uint64_t seed = 42;
  int64_t width = 0, height = 0;
  struct View {
    const ServedModel* model = nullptr;
    ViewSettings settings;
  };
  std::vector<View> views;

  // `world`, or a new one from `settings`. Unknown models and impossible sizes are refused.
  static WorldRequest resolve(const std::optional<std::string>& world,
                              const WorldSettings& settings, const Models& models,
                              const Limits& limits);

  WorldFacts facts() const;
  // Refuses starts that are not there or cannot be shown as asked.
  void check_start(const Starts& starts) const;
  // Null where none is asked for.
  std::unique_ptr<Tour> tour(const Starts& starts) const;
  // The first frame, that of the tour if there is one; fills in the start's own prompt where none
  // was given.
  StartPicture first_frame(const Starts& starts, const Limits& limits, Tour* tour = nullptr) const;
};

// A view beside `first`; absent settings are those of `first`. Models that cannot walk together are
// refused.
WorldRequest::View resolve_second(const ViewRequest& second, const Models& models,
                                  const WorldRequest::View& first);

// The lens of a world's frames.
camera::Lens lens_of(const WorldFacts& facts);

// `history` with at most `frames` frames beside the chunk's own, and `archive` kept aside (0 =
// all); impossible ones are refused.
memory::HistoryOptions history_options(const std::string& history, int64_t frames, int64_t archive);

}  // namespace loci::serve
