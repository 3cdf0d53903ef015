// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/caption.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "loci/world/scene/scene.h"

namespace loci::world {

namespace {

// Two nouns per style; the first is used in the caption.
std::array<std::string_view, 2> nouns(Style style) {
  switch (style) {
    case Style::kTown:
      return {"town", "village"};
    case Style::kCourtyard:
      return {"courtyard", "walled court"};
    case Style::kForest:
      return {"forest", "wood"};
    case Style::kDesert:
      return {"desert", "sandy plain"};
    case Style::kInterior:
      return {"gallery", "house of many rooms"};
    case Style::kRuins:
      return {"field of ruins", "ruined temple"};
    case Style::kGarden:
      return {"formal garden", "park with hedges"};
    case Style::kPlaza:
      break;
  }
  return {"sunny square", "small sunny square"};
}

std::string_view adjective(Weather weather) {
  return weather == Weather::kFog ? "foggy " : weather == Weather::kSnow ? "snowy " : "";
}

std::string_view time_phrase(Time time, bool second) {
  switch (time) {
    case Time::kDay:
      return second ? "in daylight" : "by day";
    case Time::kDusk:
      return second ? "at sunset" : "at dusk";
    case Time::kNight:
      break;
  }
  return second ? "under the night sky" : "at night";
}

std::string_view weather_phrase(Weather weather) {
  return weather == Weather::kFog ? " in the mist" : weather == Weather::kSnow ? " under snow" : "";
}

std::string list(const std::vector<std::string>& things, size_t count) {
  count = std::min(count, things.size());
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + things[i];
  }
  return text;
}

}  // namespace

std::vector<std::string> make_captions(const Scene& scene, Random& random) {
  const auto noun = nouns(scene.style);
  const Mood& mood = scene.mood;
  std::vector<std::string> shuffled = scene.features;
  for (size_t i = shuffled.size(); i > 1; --i)
    std::swap(shuffled[i - 1], shuffled[random.below(i)]);
  const std::string three = list(scene.features, 3), others = list(shuffled, 3),
                    two = list(scene.features, 2);
  return {
      fmt::format("a {}{} {} with {}", adjective(mood.weather), noun[0],
                  time_phrase(mood.time, false), three),
      fmt::format("a {}{} {} with {}", adjective(mood.weather), noun[0],
                  time_phrase(mood.time, true), others),
      fmt::format("{} in a {}{} {}", two, adjective(mood.weather), noun[0],
                  time_phrase(mood.time, false)),
      fmt::format("a walk through a {}{} {}, past {}", noun[1], weather_phrase(mood.weather),
                  time_phrase(mood.time, true), three),
  };
}

}  // namespace loci::world
