// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/runner.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/output_path.h"
#include "loci/base/progress.h"
#include "loci/base/random.h"
#include "loci/eval/report/report.h"
#include "loci/world/recording/manifest.h"

namespace loci::eval {

namespace fs = std::filesystem;

namespace {

fs::path part_file(const fs::path& out, const std::string& group, const std::string& clip) {
  return out / "parts" / file_name(group) / (file_name(clip) + ".json");
}

// The reason why measuring a clip failed.
fs::path failure_file(const fs::path& out, const std::string& group, const std::string& clip) {
  return part_file(out, group, clip).replace_extension(".failed");
}

std::vector<FailedClip> read_failures(const Suite& suite, const fs::path& out) {
  std::vector<FailedClip> failed;
  for (const VariantGroup& group : suite.groups()) {
    for (const std::string& clip : suite.clips()) {
      const fs::path file = failure_file(out, group.name, clip);
      if (fs::exists(file) && !fs::exists(part_file(out, group.name, clip))) {
        failed.push_back({group.name, clip, read_file(file)});
      }
    }
  }
  return failed;
}

// A report of the existing results. Values that depend on all clips are absent.
void write_partial_report(Suite& suite, const RunOptions& options) {
  std::vector<PartResult> parts = read_parts(suite, options.out);
  if (parts.empty()) return;
  const size_t wanted = suite.groups().size() * suite.clips().size();
  Report report = make_report(suite, std::move(parts), options.weight);
  report.failed = read_failures(suite, options.out);
  report.missing = static_cast<int64_t>(wanted - report.parts.size() - report.failed.size());
  write_report(options.out, report);
}

void check_names(const std::vector<std::string>& names, std::string_view what) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second)
      fail("two {} have the name '{}'; names must be unique", what, name);
  }
}

}  // namespace

std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || (c == '.' && !safe.empty());
    safe += plain ? c : '_';
  }
  constexpr size_t kMaxLength = 80;
  if (safe == name && safe.size() <= kMaxLength) return safe;
  uint64_t hash = 0;
  for (const char c : name) hash = hash_keys({hash, static_cast<unsigned char>(c)});
  return fmt::format("{}-{:08x}", safe.substr(0, kMaxLength), hash & 0xffffffff);
}

std::vector<PartResult> read_parts(const Suite& suite, const fs::path& out) {
  std::vector<PartResult> parts;
  for (const VariantGroup& group : suite.groups()) {
    for (const std::string& clip : suite.clips()) {
      const fs::path file = part_file(out, group.name, clip);
      if (!fs::exists(file)) continue;
      PartResult part = PartResult::from_json(load_json(file), file.string());
      if (part.group != group.name || part.clip != clip) {
        fail(
            "{}: result of clip '{}' with '{}'; expected clip '{}' with '{}'. Delete the file and "
            "run the command again",
            file.string(), part.clip, part.group, clip, group.name);
      }
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

int64_t run_suite(Suite& suite, const RunOptions& options) {
  LOCI_CHECK(options.shards >= 1 && options.shard >= 0 && options.shard < options.shards,
             "shard {} of {}", options.shard, options.shards);
  const std::vector<std::string> clips = suite.clips();
  const std::vector<VariantGroup> groups = suite.groups();
  check_names(clips, "clips");
  check_names(variants_of(suite), "variants");
  make_folders(options.out);
  world::keep_manifest(options.out, suite.settings());
  struct Work {
    size_t group;
    std::vector<size_t> clips;
  };
  std::vector<Work> work;
  uint64_t total = 0, done = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    make_folders(part_file(options.out, groups[g].name, "x").parent_path());
    Work missing{g, {}};
    for (auto c = static_cast<size_t>(options.shard); c < clips.size();
         c += static_cast<size_t>(options.shards)) {
      ++total;
      if (fs::exists(part_file(options.out, groups[g].name, clips[c]))) {
        ++done;
      } else {
        missing.clips.push_back(c);
      }
    }
    if (!missing.clips.empty()) work.push_back(std::move(missing));
  }
  using Clock = std::chrono::steady_clock;
  auto reported = Clock::now();
  if (done < total) {
    Progress progress("eval", total, "clips", done);
    for (const Work& part : work) {
      const std::string& group = groups[part.group].name;
      progress.set_note(group);
      suite.open(part.group);
      std::string failure;
      size_t failures = 0;
      for (const size_t clip : part.clips) {
        check_interrupt();
        const fs::path failed = failure_file(options.out, group, clips[clip]);
        fs::remove(failed);
        try {
          PartResult result = suite.run(clip);
          result.group = group;
          result.clip = clips[clip];
          write_file(part_file(options.out, group, result.clip), result.to_json().dump() + "\n");
        } catch (const Interrupted&) {
          throw;
        } catch (const std::exception& error) {
          const auto* own = dynamic_cast<const Error*>(&error);
          if (own != nullptr && own->kind() == ErrorKind::kInternal) throw;
          // The first line: errors of libtorch contain a stack.
          const std::string message = error.what();
          failure = message.substr(0, message.find('\n'));
          ++failures;
          log_warning("{}, {}: {}", group, clips[clip], failure);
          write_file(failed, failure);
        }
        progress.advance();
        const std::chrono::duration<double> since = Clock::now() - reported;
        if (options.shard == 0 && since.count() >= options.report_seconds) {
          write_partial_report(suite, options);
          reported = Clock::now();
        }
      }
      // Nothing was measured: more likely a wrong option than damaged clips.
      if (failures == part.clips.size() && failures == clips.size()) fail("{}", failure);
    }
  }
  std::vector<PartResult> parts = read_parts(suite, options.out);
  std::vector<FailedClip> failed = read_failures(suite, options.out);
  const auto missing =
      static_cast<int64_t>(groups.size() * clips.size() - parts.size() - failed.size());
  if (missing > 0) {
    log_info("{} of {} results are missing; the process that adds the last one writes the report",
             missing, groups.size() * clips.size());
    return missing;
  }
  suite.conclude(parts);
  Report report = make_report(suite, std::move(parts), options.weight);
  report.failed = std::move(failed);
  if (!report.failed.empty()) {
    log_warning("{} of {} results are missing because their clips failed; report.html lists them",
                report.failed.size(), groups.size() * clips.size());
  }
  write_report(options.out, report);
  return 0;
}

}  // namespace loci::eval
