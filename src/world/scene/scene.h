// SPDX-License-Identifier: Apache-2.0
// A world from a seed: its scene, what it is called, where one can stand.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loci/world/scene/builder.h"
#include "loci/world/scene/mood.h"
#include "loci/world/scene/scene_geometry.h"

namespace loci::world {

enum class Style { kTown, kCourtyard, kForest, kDesert, kInterior, kRuins, kGarden };

inline constexpr std::array kTrainingStyles = {Style::kTown, Style::kCourtyard, Style::kForest,
                                               Style::kDesert, Style::kInterior};
// Never used in training: they show what a model makes of a kind of place that it has not seen.
inline constexpr std::array kHeldOutStyles = {Style::kRuins, Style::kGarden};

std::string_view name_of(Style style);
std::string_view name_of(Time time);
std::string_view name_of(Weather weather);
// Bad input lists the names.
Style parse_style(std::string_view name);
Time parse_time(std::string_view name);
Weather parse_weather(std::string_view name);

// What the seed leaves open when absent.
struct SceneOptions {
  std::optional<Style> style;
  std::optional<Time> time;
  std::optional<Weather> weather;
};

struct Scene {
  uint64_t seed = 0;
  Style style = Style::kTown;
  Mood mood;
  SceneGeometry geometry;
  std::vector<std::string> features;  // "a red tower"; most striking first
  std::vector<std::string> captions;  // the first is the caption, the others say the same
  std::vector<Place> viewpoints;      // good places to stand and directions to look
  float trajectory_radius = 24;       // metres around the origin
};

// The same world for the same seed and options, bit by bit, on every machine.
Scene make_scene(uint64_t seed, const SceneOptions& options = {});

}  // namespace loci::world
