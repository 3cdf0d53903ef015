// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/scene.h"

#include "loci/base/error.h"
#include "loci/world/render/bvh.h"
#include "loci/world/scene/caption.h"
#include "loci/world/scene/light.h"
#include "loci/world/scene/name_list.h"
#include "loci/world/scene/styles.h"

namespace loci::world {

namespace {

constexpr std::string_view kStyleNames[] = {"town",     "courtyard", "forest", "desert",
                                            "interior", "ruins",     "garden", "plaza"};
constexpr std::string_view kTimeNames[] = {"day", "dusk", "night"};
constexpr std::string_view kWeatherNames[] = {"clear", "fog", "snow"};

Horizon horizon_of(Style style, Random& random) {
  switch (style) {
    case Style::kDesert:
      return Horizon::kMesas;
    case Style::kInterior:
      return Horizon::kHills;
    default:
      return random.chance(0.5) ? Horizon::kMountains : Horizon::kHills;
  }
}

void build(Style style, Draft& draft) {
  switch (style) {
    case Style::kTown:
      return build_town(draft);
    case Style::kCourtyard:
      return build_courtyard(draft);
    case Style::kForest:
      return build_forest(draft);
    case Style::kDesert:
      return build_desert(draft);
    case Style::kInterior:
      return build_interior(draft);
    case Style::kRuins:
      return build_ruins(draft);
    case Style::kGarden:
      return build_garden(draft);
    case Style::kPlaza:
      return build_plaza(draft);
  }
}

}  // namespace

std::string_view name_of(Style style) { return kStyleNames[static_cast<size_t>(style)]; }
std::string_view name_of(Time time) { return kTimeNames[static_cast<size_t>(time)]; }
std::string_view name_of(Weather weather) { return kWeatherNames[static_cast<size_t>(weather)]; }
Style parse_style(std::string_view name) { return value_of<Style>("style", name, kStyleNames); }
Time parse_time(std::string_view name) { return value_of<Time>("time", name, kTimeNames); }
Weather parse_weather(std::string_view name) {
  return value_of<Weather>("weather", name, kWeatherNames);
}

std::optional<Style> parse_family(std::string_view family, std::string_view where) {
  if (family.empty()) return std::nullopt;
  return value_of<Style>(fmt::format("family in {}/generation.json:", where), family, kStyleNames);
}

Motion motion_of(Style style) {
  Motion motion;
  if (style == Style::kPlaza) {
    // Slow enough that at 75 degrees over 192 pixels and 16 frames per second, a turn moves the
    // picture by at most 10 pixels in the four frames of a latent.
    motion.speed = 0.8;
    motion.turn_rate = 15.5;
    motion.acceleration = 1.0;
    motion.turn_acceleration = 30;
    motion.pitch_acceleration = 20;
    motion.highest_turn_rate = 1.05;
    motion.tilt = 0.5;
    motion.orbit_share = 0.5;
    motion.speed_range = {0.9, 1.1};
    motion.turn_range = {0.9, 1.05};
  }
  return motion;
}

Scene make_scene(uint64_t seed, const SceneOptions& options) {
  Random random{seed, 0x6d6f6f64};
  Scene scene;
  scene.seed = seed;
  // Drawn even if an option overrides them, so that an option does not change the rest of the
  // scene.
  const Style style = kTrainingStyles[random.below(kTrainingStyles.size())];
  const double time = random.uniform(), weather = random.uniform();
  scene.style = options.style.value_or(style);
  scene.mood.time = options.time.value_or(time < 0.45   ? Time::kDay
                                          : time < 0.75 ? Time::kDusk
                                                        : Time::kNight);
  scene.mood.weather = options.weather.value_or(weather < 0.66   ? Weather::kClear
                                                : weather < 0.82 ? Weather::kFog
                                                                 : Weather::kSnow);
  if (has_one_mood(scene.style)) {
    if (options.time.value_or(Time::kDay) != Time::kDay ||
        options.weather.value_or(Weather::kClear) != Weather::kClear)
      fail("the style {} exists only by day in clear weather; omit time and weather",
           name_of(scene.style));
    scene.mood = {Time::kDay, Weather::kClear};
  }
  const bool dry = scene.style == Style::kDesert || scene.style == Style::kInterior;
  if (!options.weather && dry && scene.mood.weather == Weather::kSnow)
    scene.mood.weather = Weather::kClear;
  if (!options.weather && scene.style == Style::kInterior) scene.mood.weather = Weather::kClear;

  if (has_one_mood(scene.style)) {
    make_fair_sky(scene.geometry);
  } else {
    make_sky(scene.geometry, scene.mood, horizon_of(scene.style, random), random);
  }
  Draft draft(scene.geometry, scene.mood, seed);
  build(scene.style, draft);
  build_hierarchy(scene.geometry);
  compute_light(scene.geometry, draft.ground.paint());
  scene.features = draft.features;
  scene.viewpoints = draft.viewpoints;
  scene.trajectory_radius = draft.trajectory_radius;
  scene.tour_radius = draft.tour_radius;
  scene.captions = make_captions(scene, random);
  return scene;
}

}  // namespace loci::world
