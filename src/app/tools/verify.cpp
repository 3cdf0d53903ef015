// SPDX-License-Identifier: Apache-2.0
// `loci verify`: runs golden cases and prints the error of each output.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "loci/app/cli/command.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/terminal.h"
#include "loci/eval/golden/golden.h"
#include "loci/io/tensors/safetensors.h"

namespace loci::app {

namespace fs = std::filesystem;

namespace {

struct VerifyOptions {
  std::vector<std::string> paths;
  std::string dtype = "fp32";
  bool json = false;
};

// Golden cases in a folder. Other safetensors files (weights) are ignored.
std::vector<fs::path> cases_in(const fs::path& folder) {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    if (io::SafetensorsFile::open(entry.path()).metadata().contains("loci.case")) {
      cases.push_back(entry.path());
    }
  }
  if (cases.empty())
    fail("{}: found no golden cases (*.safetensors with the metadata loci.case)", folder.string());
  std::sort(cases.begin(), cases.end());
  return cases;
}

std::vector<fs::path> all_cases(const std::vector<std::string>& paths) {
  std::vector<fs::path> cases;
  for (const fs::path path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      for (const fs::path& file : cases_in(path)) cases.push_back(file);
    } else {
      cases.push_back(path);
    }
  }
  return cases;
}

void print_case(const fs::path& file, const eval::GoldenResult& result) {
  const bool colour = wants_colour(STDOUT_FILENO);
  fmt::print("{} ({})\n", file.string(), result.kind);
  for (const eval::GoldenOutput& output : result.outputs) {
    const std::string verdict = output.passed() ? coloured("ok  ", Colour::kGreen, colour)
                                                : coloured("FAIL", Colour::kRed, colour);
    fmt::print("  {}  {:<20} error {:<9.2e} tolerance {:.2e}\n", verdict, output.name, output.error,
               output.tolerance);
  }
}

void verify(const VerifyOptions& options) {
  const at::ScalarType compute = options.dtype == "bf16" ? at::kBFloat16 : at::kFloat;
  Json reports = Json::array();
  size_t outputs = 0, failed = 0;
  for (const fs::path& file : all_cases(options.paths)) {
    check_interrupt();
    const eval::GoldenResult result = eval::run_golden(file, compute);
    outputs += result.outputs.size();
    for (const eval::GoldenOutput& output : result.outputs) failed += output.passed() ? 0 : 1;
    if (options.json) {
      Json report = result.to_json();
      report["file"] = file.string();
      reports.push_back(report);
    } else {
      print_case(file, result);
    }
  }
  if (options.json) {
    const Json report = {{"dtype", options.dtype}, {"passed", failed == 0}, {"cases", reports}};
    fmt::print("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
  }
  if (failed > 0) fail_check("{} of {} outputs exceed their tolerance", failed, outputs);
}

}  // namespace

void add_verify(CLI::App& app) {
  app.description("Run golden cases and print the error of every output");
  auto options = std::make_shared<VerifyOptions>();
  app.add_option("files", options->paths, "golden cases (*.safetensors) or folders of golden cases")
      ->type_name("FILE…")
      ->required();
  app.add_option("--dtype", options->dtype,
                 "data type of matrix products; it also sets the tolerances")
      ->check(one_of({"fp32", "bf16"}))
      ->capture_default_str();
  app.add_flag("--json", options->json, "print JSON");
  app.callback([options] { verify(*options); });
  examples(app, {{"loci verify tests/data/golden", "run every case of a folder in FP32"},
                 {"loci verify window.safetensors --dtype bf16", "run one case in BF16"},
                 {"loci verify tests/data/golden --json", "print all errors as JSON"}});
}

}  // namespace loci::app
