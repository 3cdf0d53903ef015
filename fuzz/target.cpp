// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "loci/base/error.h"

namespace loci::fuzz {

namespace fs = std::filesystem;

namespace {

std::vector<Target>& all() {
  static std::vector<Target> targets;
  return targets;
}

std::vector<std::function<void()>>& endings() {
  static std::vector<std::function<void()>> stops;
  return stops;
}

struct Folder {
  Folder() {
    const fs::path memory = "/dev/shm";
    path = (fs::is_directory(memory) ? memory : fs::temp_directory_path()) /
           ("loci-fuzz-" + std::to_string(::getpid()));
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

// Does not use AtomicFile, because flushing to disk would be slow.
void write(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) fail_machine("cannot write {}", path.string());
}

bool plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 40 && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

}  // namespace

namespace detail {

bool add_target(const char* name, void (*run)(std::string_view)) {
  all().push_back({name, run});
  std::sort(all().begin(), all().end(),
            [](const Target& a, const Target& b) { return a.name < b.name; });
  return true;
}

}  // namespace detail

const std::vector<Target>& targets() { return all(); }

const Target& find_target(std::string_view name) {
  std::string names;
  for (const Target& target : all()) {
    if (target.name == name) return target;
    names += (names.empty() ? "" : ", ") + target.name;
  }
  fail("unknown target '{}'; choose one of: {}", name, names);
}

void call(const Target& target, std::string_view bytes) {
  try {
    target.run(bytes);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    LOCI_CHECK(*error.what() != '\0', "a bad-input error without a message");
  }
}

const fs::path& scratch_folder() {
  static const Folder folder;
  return folder.path;
}

fs::path scratch_file(std::string_view name, std::string_view bytes) {
  fs::path path = scratch_folder() / name;
  write(path, bytes);
  return path;
}

size_t take_choice(std::string_view& bytes, size_t count) {
  if (bytes.empty()) return 0;
  const size_t choice = static_cast<unsigned char>(bytes.front()) % count;
  bytes.remove_prefix(1);
  return choice;
}

fs::path scratch_files(std::string_view name, std::string_view bytes) {
  fs::path folder = scratch_folder() / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  constexpr std::string_view kMark = "== ";
  if (!bytes.starts_with(kMark)) return folder;
  bytes.remove_prefix(kMark.size());
  while (true) {
    const size_t line = std::min(bytes.find('\n'), bytes.size());
    const std::string_view file = bytes.substr(0, line);
    bytes.remove_prefix(std::min(line + 1, bytes.size()));
    const size_t next = bytes.find("\n== ");
    if (plain_name(file)) write(folder / file, bytes.substr(0, next));
    if (next == std::string_view::npos) return folder;
    bytes.remove_prefix(next + 1 + kMark.size());
  }
}

void at_end(std::function<void()> stop) { endings().push_back(std::move(stop)); }

void end() {
  for (const std::function<void()>& stop : endings()) stop();
  endings().clear();
}

}  // namespace loci::fuzz
