// SPDX-License-Identifier: Apache-2.0
#include "loci/base/machine.h"

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "loci/base/text.h"

namespace loci {

namespace fs = std::filesystem;

namespace {

// The lines of a file in /proc or /sys. The size of such a file is unknown before it is read.
std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  return lines;
}

// "MemTotal:  24583484 kB" -> bytes
std::optional<uint64_t> kilobytes(std::string_view line, std::string_view name) {
  const auto words = split_whitespace(line);
  if (words.size() < 2 || words[0] != name) return std::nullopt;
  const std::optional<int64_t> number = parse_int(words[1]);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number) * 1024;
}

// A number in a file of cgroup v2. nullopt for "max" or a missing file, which mean no limit.
std::optional<uint64_t> group_number(const fs::path& name) {
  const std::vector<std::string> lines = lines_of(fs::path("/sys/fs/cgroup") / name);
  if (lines.empty()) return std::nullopt;
  const std::optional<int64_t> number = parse_int(trim(lines[0]));
  if (!number || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

// Number of threads that the CPU quota of a container ("200000 100000") allows.
int quota_threads() {
  const std::vector<std::string> lines = lines_of("/sys/fs/cgroup/cpu.max");
  if (lines.empty()) return INT32_MAX;
  const auto words = split_whitespace(lines[0]);
  if (words.size() != 2) return INT32_MAX;
  const auto quota = parse_double(words[0]);
  const auto period = parse_double(words[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) return INT32_MAX;
  return std::max(1, static_cast<int>(std::ceil(*quota / *period)));
}

int allowed_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more than 1024 hardware threads.
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

Processor processor() {
  Processor result;
  result.model = "unknown";
  std::set<std::pair<std::string, std::string>> cores;  // socket and core of each hardware thread
  std::string socket;
  for (const std::string& line : lines_of("/proc/cpuinfo")) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view name = trim(std::string_view(line).substr(0, colon));
    const std::string value(trim(std::string_view(line).substr(colon + 1)));
    if (name == "model name") result.model = value;
    if (name == "physical id") socket = value;
    if (name == "core id") cores.emplace(socket, value);
  }
  result.threads = std::max(1, std::min(allowed_threads(), quota_threads()));
  result.cores = cores.empty() ? result.threads : static_cast<int>(cores.size());
  return result;
}

std::optional<Memory> machine_memory() {
  Memory result;
  for (const std::string& line : lines_of("/proc/meminfo")) {
    if (const auto bytes = kilobytes(line, "MemTotal:")) result.total = *bytes;
    if (const auto bytes = kilobytes(line, "MemAvailable:")) result.available = *bytes;
  }
  if (result.total == 0) return std::nullopt;
  if (const auto limit = group_number("memory.max"); limit && *limit < result.total) {
    const uint64_t used = group_number("memory.current").value_or(0);
    result.total = *limit;
    result.available = std::min(result.available, *limit - std::min(*limit, used));
  }
  return result;
}

std::optional<ProcessMemory> process_memory() {
  ProcessMemory result;
  for (const std::string& line : lines_of("/proc/self/status")) {
    if (const auto now = kilobytes(line, "VmRSS:")) result.now = *now;
    if (const auto peak = kilobytes(line, "VmHWM:")) result.peak = *peak;
  }
  if (result.now == 0 || result.peak == 0) return std::nullopt;
  return result;
}

bool reset_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

void return_large_blocks() {
#if defined(__GLIBC__)
  constexpr int kLarge = 4 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
  ::mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
#endif
}

uint64_t raise_open_file_limit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : before;
}

std::optional<uint64_t> free_disk(const fs::path& path) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) return std::nullopt;
  return uint64_t{status.f_bavail} * uint64_t{status.f_frsize};
}

fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : program.parent_path();
}

}  // namespace loci
