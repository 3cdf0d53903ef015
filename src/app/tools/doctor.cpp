// SPDX-License-Identifier: Apache-2.0
// `loci doctor`: prints one line for each property of the machine that matters to loci.
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/avutil.h>
}
#include <unistd.h>

#include <cstdio>
#include <regex>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>

#include "loci/app/cli/command.h"
#include "loci/app/tools/models.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/machine.h"
#include "loci/base/terminal.h"
#include "loci/base/text.h"
#include "loci/kernels/machine/cpu_features.h"

namespace loci::app {

namespace {

enum class Status { kOk, kNote, kMissing };

struct Finding {
  Status status = Status::kOk;
  std::string name;
  std::string summary;
  std::string advice = {};  // what to do; empty if nothing
  Json details = Json::object();
};

std::string_view word(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kNote:
      return "note";
    case Status::kMissing:
      return "missing";
  }
  return "missing";
}

Finding check_processor() {
  const Processor cpu = processor();
  const std::vector<std::string> features = kernels::cpu_features().names();
  return {.name = "processor",
          .summary = features.empty()
                         ? cpu.model + ", no vector instructions that the kernels support"
                         : fmt::format("{}: {}", cpu.model, fmt::join(features, " ")),
          .details = {{"model", cpu.model}, {"features", features}}};
}

Finding check_kernels() {
  const kernels::IsaLevel best = kernels::cpu_features().best_level();
  Finding finding{.name = "kernels", .details = {{"best", kernels::name_of(best)}}};
  try {
    const kernels::IsaLevel level = kernels::isa_level();
    finding.summary = fmt::format("instruction set {}", kernels::name_of(level));
    finding.details["level"] = kernels::name_of(level);
    if (level < best) {
      finding.status = Status::kNote;
      finding.summary += ", limited by LOCI_ISA";
      finding.advice = fmt::format("unset LOCI_ISA to use {}", kernels::name_of(best));
    } else if (level == kernels::IsaLevel::kPlain) {
      finding.status = Status::kNote;
      finding.advice = "a processor with AVX2 would be many times faster";
    }
  } catch (const Error& error) {
    finding.status = Status::kMissing;
    finding.summary = error.what();
  }
  return finding;
}

Finding check_amx() {
  switch (kernels::cpu_features().amx) {
    case kernels::AmxState::kGranted:
      return {
          .name = "amx", .summary = "tile registers available", .details = {{"state", "granted"}}};
    case kernels::AmxState::kRefused:
      return {.status = Status::kNote,
              .name = "amx",
              .summary = "the operating system does not allow tile registers",
              .advice = "use Linux 5.16 or later and a container that allows arch_prctl",
              .details = {{"state", "refused"}}};
    case kernels::AmxState::kAbsent:
      break;
  }
  return {.status = Status::kNote,
          .name = "amx",
          .summary = "not supported by this processor",
          .advice = "nothing to do: the kernels use other instructions",
          .details = {{"state", "absent"}}};
}

Finding check_threads() {
  const Processor cpu = processor();
  const int used = at::get_num_threads();
  Finding finding{
      .name = "threads",
      .summary =
          fmt::format("{} in use; {} cores and {} hardware threads available to this process", used,
                      cpu.cores, cpu.threads),
      .details = {{"used", used}, {"cores", cpu.cores}, {"hardware_threads", cpu.threads}}};
  if (used > cpu.threads) {
    finding.status = Status::kNote;
    finding.advice =
        fmt::format("more threads than the hardware has are slower: use --threads {}", cpu.threads);
  }
  return finding;
}

Finding check_memory() {
  const std::optional<Memory> found = machine_memory();
  if (!found) {
    return {.status = Status::kNote,
            .name = "memory",
            .summary = "the operating system reports no size"};
  }
  Finding finding{
      .name = "memory",
      .summary = fmt::format("{} available of {}", format_bytes(found->available),
                             format_bytes(found->total)),
      .details = {{"total_bytes", found->total}, {"available_bytes", found->available}}};
  if (found->available < uint64_t{1} << 30) {
    finding.status = Status::kNote;
    finding.advice = "less than 1 GiB is available: close other programs";
  }
  return finding;
}

// Reads a value of libtorch's build settings, such as "CUDA_VERSION=13.2,".
std::string build_setting(const std::string& config, const std::string& name) {
  std::smatch match;
  return std::regex_search(config, match, std::regex(name + "=([^, ]*)")) ? match[1].str() : "";
}

// Reports the libtorch that is loaded, which may differ from the headers used at compile time.
Finding check_libtorch() {
  const std::string config = at::show_config();
  const std::string version = build_setting(config, "TORCH_VERSION");
  const std::string cuda = build_setting(config, "CUDA_VERSION");
  std::string build = cuda.empty() ? "CPU build" : "CUDA " + cuda + " build";
  if (!cuda.empty()) build += at::hasCUDA() ? " with a GPU" : " without a GPU (the CPU is used)";
  Finding finding{
      .name = "libtorch",
      .summary = fmt::format("{}, {}, {} MKL, {} oneDNN, CPU capability {}", version, build,
                             at::hasMKL() ? "with" : "without",
                             at::hasMKLDNN() ? "with" : "without", at::get_cpu_capability()),
      .details = {{"version", version},
                  {"cuda", cuda.empty() ? Json(nullptr) : Json(cuda)},
                  {"gpu", at::hasCUDA()},
                  {"mkl", at::hasMKL()},
                  {"onednn", at::hasMKLDNN()},
                  {"capability", at::get_cpu_capability()}}};
  const at::Tensor ones = at::ones({64, 64});
  if (at::mm(ones, ones).sum().item<float>() != 64.0F * 64 * 64) {
    finding.status = Status::kMissing;
    finding.summary += "; a test matrix product is wrong";
    finding.advice = "remove build/venv and run scripts/bootstrap";
  } else if (!at::hasMKL() || !at::hasMKLDNN()) {
    finding.status = Status::kNote;
    finding.advice = "matrix products are faster with the libtorch of the Python package";
  }
  return finding;
}

Finding check_ffmpeg() {
  const bool video = avcodec_find_encoder_by_name("libx264") != nullptr;
  const bool lossless = avcodec_find_encoder_by_name("libx264rgb") != nullptr;
  const bool decoder = avcodec_find_decoder(AV_CODEC_ID_H264) != nullptr;
  Finding finding{.name = "ffmpeg",
                  .summary = fmt::format("{}, H.264:", av_version_info()),
                  .details = {{"version", av_version_info()},
                              {"libx264", video},
                              {"libx264rgb", lossless},
                              {"h264_decoder", decoder}}};
  finding.summary += video ? " libx264" : " no libx264";
  finding.summary += lossless ? ", libx264rgb (lossless)" : ", no libx264rgb (lossless)";
  finding.summary += decoder ? ", decoder" : ", no decoder";
  if (!video || !decoder) {
    finding.status = Status::kMissing;
    finding.advice = "install an FFmpeg built with x264, such as Debian's; videos need it";
  } else if (!lossless) {
    finding.status = Status::kNote;
    finding.advice = "lossless video needs libx264rgb; PNG frames work without it";
  }
  return finding;
}

Finding check_models() {
  const std::vector<std::filesystem::path> models = find_models();
  if (models.empty()) {
    return {.status = Status::kNote,
            .name = "models",
            .summary = "none found",
            .advice = "put model folders under models/ or set LOCI_MODELS",
            .details = {{"found", Json::array()}}};
  }
  std::vector<std::string> paths;
  for (const auto& model : models) paths.push_back(model.string());
  return {.name = "models",
          .summary = fmt::format("{}: {}", paths.size(), fmt::join(paths, ", ")),
          .details = {{"found", paths}}};
}

Finding check_disk() {
  const std::optional<uint64_t> free = free_disk(".");
  if (!free)
    return {
        .status = Status::kNote, .name = "disk", .summary = "the operating system reports no size"};
  Finding finding{.name = "disk",
                  .summary = format_bytes(*free) + " free in the working directory",
                  .details = {{"free_bytes", *free}}};
  if (*free < uint64_t{64} << 20) {
    finding.status = Status::kMissing;
    finding.advice = "free disk space: outputs would not fit";
  } else if (*free < uint64_t{2} << 30) {
    finding.status = Status::kNote;
    finding.advice = "less than 2 GiB is little for models and training";
  }
  return finding;
}

std::vector<Finding> examine() {
  return {check_processor(), check_kernels(), check_amx(),    check_threads(), check_memory(),
          check_libtorch(),  check_ffmpeg(),  check_models(), check_disk()};
}

void print_text(const std::vector<Finding>& findings) {
  const bool colour = wants_colour(STDOUT_FILENO);
  for (const Finding& finding : findings) {
    const Colour shade = finding.status == Status::kOk     ? Colour::kGreen
                         : finding.status == Status::kNote ? Colour::kYellow
                                                           : Colour::kRed;
    const std::string status = coloured(fmt::format("{:<7}", word(finding.status)), shade, colour);
    fmt::print("{}  {:<9}  {}{}{}\n", status, finding.name, finding.summary,
               finding.advice.empty() ? "" : "; ", finding.advice);
  }
}

void print_json(const std::vector<Finding>& findings, bool complete) {
  Json checks = Json::array();
  for (const Finding& finding : findings) {
    checks.push_back({{"name", finding.name},
                      {"status", word(finding.status)},
                      {"summary", finding.summary},
                      {"advice", finding.advice},
                      {"details", finding.details}});
  }
  const Json report = {{"complete", complete}, {"checks", checks}};
  // Names of folders need not be valid UTF-8.
  fmt::print("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
}

void examine_and_print(bool json) {
  const std::vector<Finding> findings = examine();
  std::vector<std::string> missing;
  for (const Finding& finding : findings) {
    if (finding.status == Status::kMissing) missing.push_back(finding.name);
  }
  if (json) {
    print_json(findings, missing.empty());
  } else {
    print_text(findings);
  }
  if (!missing.empty())
    fail_machine("missing or broken: {}; see the lines above", fmt::join(missing, ", "));
}

}  // namespace

void add_doctor(CLI::App& app) {
  app.description("Check this machine: processor, memory, libraries, models, disk");
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print JSON");
  app.callback([json] { examine_and_print(*json); });
  examples(app, {{"loci doctor", "one line per check: ok, note or missing, with advice"},
                 {"loci doctor --json", "the same as JSON with all details, for scripts"},
                 {"LOCI_ISA=plain loci doctor", "check with the kernels limited to plain code"}});
}

}  // namespace loci::app
