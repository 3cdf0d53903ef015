// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/scene.h"

#include "loci/world/render/bvh.h"
#include "loci/world/scene/caption.h"
#include "loci/world/scene/light.h"
#include "loci/world/scene/name_list.h"
#include "loci/world/scene/styles.h"

namespace loci::world {

namespace {

constexpr std::string_view kStyleNames[] = {"town",     "courtyard", "forest", "desert",
                                            "interior", "ruins",     "garden"};
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
  const bool dry = scene.style == Style::kDesert || scene.style == Style::kInterior;
  if (!options.weather && dry && scene.mood.weather == Weather::kSnow)
    scene.mood.weather = Weather::kClear;
  if (!options.weather && scene.style == Style::kInterior) scene.mood.weather = Weather::kClear;

  make_sky(scene.geometry, scene.mood, horizon_of(scene.style, random), random);
  Draft draft(scene.geometry, scene.mood, seed);
  build(scene.style, draft);
  build_hierarchy(scene.geometry);
  compute_light(scene.geometry, draft.ground.paint());
  scene.features = draft.features;
  scene.viewpoints = draft.viewpoints;
  scene.trajectory_radius = draft.trajectory_radius;
  scene.captions = make_captions(scene, random);
  return scene;
}

}  // namespace loci::world
