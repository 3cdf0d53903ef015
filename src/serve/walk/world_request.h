// SPDX-License-Identifier: Apache-2.0
// A client's request for a new or stored world, resolved against the served models and limits.
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
  std::string world;                 // id of a stored world; the other fields are then ignored
  std::optional<StartChoice> start;  // absent: the first start
  std::string picture;               // JPEG or PNG; if not empty, it replaces `start`
  double tour_seconds = 0;           // length of a tour through the start's scene, 0: no tour
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

  // A request for the stored `world`, or for a new one with `settings`. Unknown models and invalid
  // sizes are refused.
  static WorldRequest resolve(const std::optional<std::string>& world,
                              const WorldSettings& settings, const Models& models,
                              const Limits& limits);

  WorldFacts facts() const;
  // Refuses unknown starts, and tours of pictures.
  void check_start(const Starts& starts) const;
  // Null if no tour was requested.
  std::unique_ptr<Tour> tour(const Starts& starts) const;
  // The first frame, from `tour` if there is one, and the request's prompt or else the start's.
  StartPicture first_frame(const Starts& starts, const Limits& limits, Tour* tour = nullptr) const;
};

// The second view of a split view. Absent settings are those of `first`. Models with different
// chunk sizes, frame sizes or frame rates are refused.
WorldRequest::View resolve_second(const ViewRequest& second, const Models& models,
                                  const WorldRequest::View& first);

// The lens of a world's frames.
camera::Lens lens_of(const WorldFacts& facts);

// Options of a history policy with at most `frames` retained frames, excluding the current chunk,
// and at most `archive` archived frames (0: no limit). Invalid combinations are refused.
memory::HistoryOptions history_options(const std::string& history, int64_t frames, int64_t archive,
                                       int64_t sink);

}  // namespace loci::serve
