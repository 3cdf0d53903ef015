// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/cost/cost_suite.h"

#include <ATen/Parallel.h>

#include "loci/base/error.h"
#include "loci/base/machine.h"
#include "loci/eval/cost/stream_cost.h"

namespace loci::eval {

namespace {
constexpr double kMiB = 1024.0 * 1024;
}

CostSuite::CostSuite(CostSetup setup)
    : ModelSuite(setup.models, setup.arms, setup.sampling.dtype), setup_(std::move(setup)) {
  if (setup_.models.empty() || setup_.seconds.empty())
    fail("expected at least one --model and one length in --seconds");
}

Json CostSuite::settings() const {
  Json json = describe(setup_.models, setup_.arms, setup_.sampling);
  json["suite"] = "cost";
  json["seconds"] = setup_.seconds;
  json["threads"] = at::get_num_threads();
  return json;
}

std::vector<Metric> CostSuite::metrics() const {
  using Better = Metric::Better;
  return {{"ratio", "s per second of video", Better::kLower, 3},
          {"ratio_end", "s per second of video, at the end", Better::kLower, 3},
          {"history_mib", "history, MiB", Better::kLower, 1},
          {"peak_mib", "peak memory of the process, MiB", Better::kLower, 0}};
}

PartResult CostSuite::run(size_t) {
  const sample::GenerationDefaults& defaults = folder().defaults();
  const double latents_per_second =
      defaults.fps / static_cast<double>(folder().time_grid().frames_per_latent);
  PartResult part;
  for (const Arm& arm : setup_.arms) {
    const std::string name = variant(arm);
    const std::vector<StreamCost> rows =
        measure_stream(folder().transformer(),
                       stream_options(folder(), arm, setup_.sampling,
                                      setup_.sampling.width.value_or(defaults.width),
                                      setup_.sampling.height.value_or(defaults.height)),
                       setup_.seconds, name, latents_per_second);
    const double chunk = static_cast<double>(folder().config().chunk_size) / latents_per_second;
    double spent = 0, before = 0;
    std::vector<Curve>& curves = part.curves[name];
    curves = {{"cpu", {}}, {"history", {}}, {"peak", {}}};
    for (const StreamCost& row : rows) {
      spent += row.chunk_seconds * (row.seconds - before) / chunk;
      before = row.seconds;
      curves[0].points.emplace_back(row.seconds, row.chunk_cpu / chunk);
      curves[1].points.emplace_back(row.seconds, static_cast<double>(row.history_bytes) / kMiB);
      curves[2].points.emplace_back(row.seconds, static_cast<double>(row.peak) / kMiB);
    }
    MetricValues& values = part.values[name];
    values["ratio"] = {spent / before};
    values["ratio_end"] = {rows.back().chunk_seconds / chunk};
    values["history_mib"] = {static_cast<double>(rows.back().history_bytes) / kMiB};
    values["peak_mib"] = {static_cast<double>(rows.back().peak) / kMiB};
  }
  return part;
}

std::vector<std::vector<PlotPanel>> CostSuite::plots(const std::vector<PartResult>& parts) const {
  std::vector<PlotPanel> panels = {
      mean_curves(*this, parts, "cpu", "CPU s per second of video", "seconds of video"),
      mean_curves(*this, parts, "history", "history, MiB", "seconds of video"),
      mean_curves(*this, parts, "peak", "peak memory of the process, MiB", "seconds of video")};
  for (PlotPanel& panel : panels) panel.from_zero = true;
  return {panels};
}

std::vector<std::string> CostSuite::notes() const {
  return {fmt::format("Up to {:g} s of video without decoding, on {} with {} threads.",
                      setup_.seconds.back(), processor().model, at::get_num_threads())};
}

}  // namespace loci::eval
