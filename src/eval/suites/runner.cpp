// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/runner.h"

#include <algorithm>
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
  if (done < total) {
    Progress progress("eval", total, "clips", done);
    for (const Work& part : work) {
      progress.set_note(groups[part.group].name);
      suite.open(part.group);
      for (const size_t clip : part.clips) {
        check_interrupt();
        PartResult result = suite.run(clip);
        result.group = groups[part.group].name;
        result.clip = clips[clip];
        write_file(part_file(options.out, result.group, result.clip),
                   result.to_json().dump() + "\n");
        progress.advance();
      }
    }
  }
  std::vector<PartResult> parts = read_parts(suite, options.out);
  const auto missing = static_cast<int64_t>(groups.size() * clips.size() - parts.size());
  if (missing > 0) {
    log_info("{} of {} results are missing; the process that adds the last one writes the report",
             missing, groups.size() * clips.size());
    return missing;
  }
  suite.conclude(parts);
  write_report(options.out, make_report(suite, std::move(parts)));
  return 0;
}

}  // namespace loci::eval
