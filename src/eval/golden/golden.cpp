// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/golden/golden.h"

#include <algorithm>
#include <map>
#include <set>

#include <ATen/ATen.h>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/eval/golden/golden_case.h"

namespace loci::eval {

namespace {

using Runner = std::map<std::string, at::Tensor> (*)(const GoldenCase&);

const std::map<std::string, Runner>& runners() {
  static const std::map<std::string, Runner> table = {
      {"geometry", run_geometry},
      {"delta_scan", run_delta_scan},
      {"window", run_window},
      {"stream_dense", run_stream},
      {"stream_sparse", run_stream},
      {"bank", run_bank},
      {"vae", run_vae},
      {"text_encoder", run_text_encoder},
      {"solarwm camera", run_solarwm_camera},
      {"solarwm forward", run_solarwm_forward},
      {"solarwm stream", run_solarwm_stream},
      {"solarwm sample", run_solarwm_sample},
      {"solarwm window", run_solarwm_window},
      {"solarwm flowmap", run_solarwm_sample},
      {"astronex-world-1.0 camera", run_astronex_camera},
      {"astronex-world-1.0 retrieval", run_astronex_retrieval},
      {"astronex-world-1.0 forward", run_astronex_forward},
      {"astronex-world-1.0 stream", run_astronex_stream},
      {"astronex-world-1.0 stream_window", run_astronex_stream},
      {"astronex-world-1.0 action", run_astronex_action},
      {"astronex-world-1.0 sampler", run_astronex_sampler},
      {"astronex-world-1.0 chroma", run_astronex_chroma},
      {"matrix-game-3.5 camera", run_matrix_game_camera},
      {"matrix-game-3.5 forward", run_matrix_game_forward},
      {"matrix-game-3.5 subject", run_matrix_game_subject},
      {"matrix-game-3.5 stream", run_matrix_game_stream},
      {"matrix-game-3.5 memory", run_matrix_game_memory},
  };
  return table;
}

double relative_error(const at::Tensor& got, const at::Tensor& expected) {
  const at::Tensor wanted = expected.to(at::kDouble);
  const at::Tensor difference = (got.to(at::kDouble) - wanted).abs();
  const double largest = difference.max().item<double>();
  if (!at::isFloatingType(expected.scalar_type())) return largest;
  const double deviation = wanted.numel() > 1 ? wanted.std().item<double>() : 1;
  return largest / std::max(deviation, 1e-12);
}

}  // namespace

bool GoldenResult::passed() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const auto& o) { return o.passed(); });
}

Json GoldenResult::to_json() const {
  Json list = Json::array();
  for (const GoldenOutput& output : outputs) {
    list.push_back({{"name", output.name},
                    {"error", output.error},
                    {"tolerance", output.tolerance},
                    {"passed", output.passed()}});
  }
  return {{"case", kind}, {"passed", passed()}, {"outputs", list}};
}

double bf16_tolerance(const std::string& kind, const std::string& output, double fp32_tolerance) {
  static const std::set<std::string> kWideGeometry = {"absolute_map", "rays", "projection",
                                                      "projection_inverse"};
  if (kind == "bank" || kind == "delta_scan") return fp32_tolerance;
  if (kind == "geometry") return kWideGeometry.contains(output) ? fp32_tolerance : 0.05;
  if (output == "velocity") return 0.05;
  if (output == "states") return 0.15;
  return 0.25;
}

GoldenResult run_golden(const std::filesystem::path& file, at::ScalarType compute) {
  const GoldenCase golden = GoldenCase::open(file, compute);
  const std::string kind = golden.system.empty() ? golden.kind : golden.system + " " + golden.kind;
  const auto runner = runners().find(kind);
  if (runner == runners().end()) {
    std::vector<std::string> known;
    for (const auto& [name, run] : runners()) known.push_back(name);
    fail("{}: {}", file.string(), unknown_choice("case", kind, known));
  }
  const std::map<std::string, at::Tensor> outputs = runner->second(golden);
  GoldenResult result;
  result.kind = kind;
  for (const std::string& name : golden.output_names()) {
    const auto found = outputs.find(name);
    if (found == outputs.end()) {
      fail("{}: a case of kind '{}' has no output '{}'", file.string(), golden.kind, name);
    }
    const at::Tensor expected = golden.output(name);
    if (found->second.sizes() != expected.sizes()) {
      fail("{}: out.{} has shape [{}], expected [{}]", file.string(), name,
           fmt::join(expected.sizes(), ", "), fmt::join(found->second.sizes(), ", "));
    }
    const double tolerance =
        compute == at::kBFloat16 ? bf16_tolerance(kind, name, golden.tolerance) : golden.tolerance;
    result.outputs.push_back({name, relative_error(found->second, expected), tolerance});
  }
  if (result.outputs.empty()) fail("{}: expected at least one tensor named out.*", file.string());
  return result;
}

}  // namespace loci::eval
