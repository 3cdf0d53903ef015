// SPDX-License-Identifier: Apache-2.0
// A procedural scene, generated from a seed: geometry, captions and viewpoints.
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

enum class Style { kTown, kCourtyard, kForest, kDesert, kInterior, kRuins, kGarden, kPlaza };

inline constexpr std::array kTrainingStyles = {Style::kTown, Style::kCourtyard, Style::kForest,
                                               Style::kDesert, Style::kInterior};
// Never used in training, to test models on unseen kinds of scenes.
inline constexpr std::array kHeldOutStyles = {Style::kRuins, Style::kGarden};
// kPlaza is in neither list: the family of a small model, used only if it is named.

std::string_view name_of(Style style);
std::string_view name_of(Time time);
std::string_view name_of(Weather weather);
// An unknown name is bad input that lists the names.
Style parse_style(std::string_view name);
Time parse_time(std::string_view name);
Weather parse_weather(std::string_view name);
// The style of the family that a model was trained for; no value if `family` is empty. `where` is
// the model folder, for messages.
std::optional<Style> parse_family(std::string_view family, std::string_view where);

// Properties that are not set are derived from the seed.
struct SceneOptions {
  std::optional<Style> style;
  std::optional<Time> time;
  std::optional<Weather> weather;
};

// How a person with a camera moves in the scenes of a style.
struct Motion {
  double speed = 1.0;               // metres per second
  double turn_rate = 32;            // degrees per second
  double highest_turn_rate = 1.15;  // as a multiple of turn_rate
  double acceleration = 1.6;        // metres per second, per second
  double turn_acceleration = 75;    // degrees per second, per second
  double pitch_acceleration = 40;   // likewise, of the pitch
  double tilt = 1;                  // multiplies the pitch of looks up and down
  double orbit_share = 0;  // share of the episodes that move around the middle of the scene
  // Random paths differ in speed and turn rate by factors between these bounds.
  std::array<double, 2> speed_range = {0.85, 1.2}, turn_range = {0.9, 1.25};
};
Motion motion_of(Style style);
// Whether all scenes of a style have the same time and weather.
inline bool has_one_mood(Style style) { return style == Style::kPlaza; }
// Whether the scenes of a style have a tour (Scene::tour_radius).
inline bool has_tour(Style style) { return style == Style::kPlaza; }

struct Scene {
  uint64_t seed = 0;
  Style style = Style::kTown;
  Mood mood;
  SceneGeometry geometry;
  std::vector<std::string> features;  // such as "a red tower", the most prominent first
  std::vector<std::string> captions;  // the caption, then paraphrases of it
  std::vector<Place> viewpoints;      // good camera places; `rotation` is a good direction to look
  float trajectory_radius = 24;       // cameras stay within this distance of the origin, metres
  // Radius of the free circle around the origin that a tour of the scene follows; 0 = the scene has
  // no tour.
  float tour_radius = 0;
};

// The scene is determined by seed and options, bit by bit, on every machine.
Scene make_scene(uint64_t seed, const SceneOptions& options = {});

}  // namespace loci::world
