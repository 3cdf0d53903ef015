// SPDX-License-Identifier: Apache-2.0
#include "loci/app/world/world_stats.h"

#include <memory>
#include <string>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "loci/app/cli/command.h"
#include "loci/app/world/world_options.h"
#include "loci/world/path/free_space.h"
#include "loci/world/path/path_survey.h"

namespace loci::app {

namespace {

struct StatsOptions : WorldCommandOptions {
  int64_t paths = 1000;
  int workers = 0;
  bool json = false, pictures = false;
};

void print_table(const world::PathSurvey& s) {
  const auto share = [&](int64_t count) {
    return fmt::format("{:.1f} %", 100 * static_cast<double>(count) / static_cast<double>(s.paths));
  };
  const auto line = [](std::string_view what, const std::string& value) {
    fmt::print("{:<34}{}\n", what, value);
  };
  const auto spread = [](const world::PathSurvey::Spread& v, std::string_view unit) {
    return fmt::format("median {:.2f}, 95th percentile {:.2f}, maximum {:.2f} {}", v.median, v.p95,
                       v.highest, unit);
  };
  line("paths", fmt::format("{} of {:.1f} s", s.paths, s.seconds));
  line("planned to return", share(s.planned));
  line("with revisits", share(s.with_revisits));
  for (size_t i = 0; i < world::kRevisitGaps.size(); ++i) {
    const std::string gap =
        i + 1 < world::kRevisitGaps.size()
            ? fmt::format("  after {} to {} s", world::kRevisitGaps[i], world::kRevisitGaps[i + 1])
            : fmt::format("  after more than {} s", world::kRevisitGaps[i]);
    line(gap, fmt::format("{} of paths, {:.1f} frames per path", share(s.paths_by_gap[i]),
                          static_cast<double>(s.frames_by_gap[i]) / static_cast<double>(s.paths)));
  }
  line("walked", fmt::format("{:.1f} m per path", s.metres));
  line("turned", fmt::format("{:.0f} degrees per path", s.degrees));
  line("speed while walking", spread(s.speed, "m/s"));
  line("turn rate while turning", spread(s.turn_rate, "degrees/s"));
  line("standing still", fmt::format("{:.1f} % of the time", 100 * s.still));
  line("nearest obstacle", fmt::format("{:.2f} m", s.nearest));
  line(fmt::format("collisions (nearer than {} m)", world::FreeSpace::kMargin),
       fmt::format("{}", s.collisions));
  if (!s.pictures) return;
  line("motion of the picture", spread(s.pictures->motion, "pixels per latent"));
  if (const auto& tour = s.pictures->tour) {
    line("shown by the tour",
         fmt::format("{:.1f} % of the later pixels, least {:.1f} % of a path; {:.1f} % with at "
                     "least half of the resolution",
                     100 * tour->shown, 100 * tour->least_shown, 100 * tour->sharp));
  }
}

void run_stats(const StatsOptions& options) {
  const int workers = options.workers > 0 ? options.workers : at::get_num_threads();
  const world::PathSurvey survey =
      world::survey_paths(options.seed, options.paths, options.clip_options(), workers,
                          options.pictures);
  if (options.json) {
    fmt::print("{}\n", world::to_json(survey).dump(2));
  } else {
    print_table(survey);
  }
}

}  // namespace

void add_world_stats(CLI::App& app) {
  auto o = std::make_shared<StatsOptions>();
  app.description("Print statistics of many trajectories: revisits, speeds, collisions");
  app.add_option("--paths", o->paths, "number of trajectories, those of clips 0, 1, …")
      ->type_name("N")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  app.add_option("--workers", o->workers, "number of threads (default: all cores)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--pictures", o->pictures,
               "render depth and measure how far the picture moves, and with --path tour, how much "
               "of the later views the tour shows");
  app.add_flag("--json", o->json, "print JSON");
  add_world_options(app, *o);
  examples(app, {{"loci world stats --paths 1000 --seconds 20", "trajectories of 20 s"},
                 {"loci world stats --paths 100 --seconds 300 --revisits 1 --json",
                  "trajectories of 5 minutes that return, as JSON"},
                 {"loci world stats --paths 100 --style plaza --path tour --seconds 60 --pictures",
                  "tours followed by walks, with the motion of the picture"}});
  app.callback([o] { run_stats(*o); });
}

}  // namespace loci::app
