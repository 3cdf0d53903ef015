// SPDX-License-Identifier: Apache-2.0
// loci eval export: inputs for other world models.
#include <memory>

#include "loci/app/cli/command.h"
#include "loci/app/eval/eval_options.h"
#include "loci/app/eval/eval_suites.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/pixel_size.h"
#include "loci/base/progress.h"
#include "loci/eval/export/system_input.h"
#include "loci/eval/mind/mind_data.h"

namespace loci::app {

namespace {

struct ExportCommand : EvalOptions {
  std::string system, view = "first";
  double context_seconds = 0;
  std::optional<double> seconds, stride, fov;
};

std::vector<std::string> system_names() {
  std::vector<std::string> names;
  for (const eval::WorldSystem& system : eval::world_systems()) names.emplace_back(system.name);
  return names;
}

void run_export(const ExportCommand& o) {
  eval::WorldSystem system = eval::find_system(o.system);
  if (!o.size.empty()) {
    const PixelSize size = parse_pixel_size(o.size, "--size");
    system.width = size.width;
    system.height = size.height;
  }
  eval::ClipOptions options{o.context_seconds, o.seconds, o.count};
  options.stride = o.stride;
  options.fov = o.fov;
  options.views.clear();
  if (o.view != "third") options.views.emplace_back("1st_data");
  if (o.view != "first") options.views.emplace_back("3rd_data");
  const bool mind = eval::is_mind(o.data);
  const eval::EvalData data = eval::open_data(o.data, eval::system_format(system), /*token=*/0,
                                              eval::system_options(system, options, mind));
  Progress progress("export", data.clips->size(), "clips");
  for (size_t clip = 0; clip < data.clips->size(); ++clip) {
    check_interrupt();
    if (const std::string damage = data.clips->damage(clip); !damage.empty()) {
      log_warning("{}: skipped: {}", data.clips->clip(clip).name, damage);
    } else {
      eval::export_clip(system, *data.clips, clip, mind, o.out);
    }
    progress.advance();
  }
  fmt::print("{}\n", o.out);
}

}  // namespace

void add_eval_export(CLI::App& app) {
  app.description("Write memory segments and target paths as inputs of other world models");
  auto o = std::make_shared<ExportCommand>();
  app.add_option("system", o->system, "the system")->required()->check(one_of(system_names()));
  add_data_options(app, *o);
  app.add_option("--out", o->out, "folder of the inputs")->type_name("DIR")->required();
  app.add_option("--size", o->size, "frame size in pixels (default: the system's)")
      ->type_name("WxH");
  app.add_option("--context-seconds", o->context_seconds,
                 "memory segment in seconds; 0 = only the first frame, MIND: the whole segment")
      ->type_name("S")
      ->check(number_in(0.0, 36000.0))
      ->capture_default_str();
  app.add_option("--seconds", o->seconds,
                 "length of the target path in seconds (default: the rest of the recording)")
      ->type_name("S")
      ->check(number_in(0.001, 36000.0));
  app.add_option("--stride", o->stride,
                 "recorded frames per frame at 16 frames per second, as in the other suites "
                 "(default: the recorded time is kept)")
      ->type_name("N")
      ->check(number_in(1.0, 100.0));
  app.add_option("--fov", o->fov,
                 "horizontal field of view in degrees of recordings without a lens and of MIND")
      ->type_name("DEG")
      ->check(number_in(1.0, 179.0));
  app.add_option("--view", o->view, "MIND: first-person or third-person clips, or both")
      ->check(one_of({"first", "third", "both"}))
      ->capture_default_str();
  examples(app, {{"loci eval export lingbot-world --data MIND-Data --out inputs",
                  "MIND's memory segments and target paths for LingBot-World"},
                 {"loci eval export matrix-game-3 --data recordings --seconds 20 --out inputs",
                  "first frames, and actions that follow the recorded paths"}});
  app.callback([o] { run_export(*o); });
}

}  // namespace loci::app
