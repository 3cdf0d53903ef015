// SPDX-License-Identifier: Apache-2.0
// Parsers under test. libFuzzer calls them with generated input, replay_test.cpp with stored input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace loci::fuzz {

struct Target {
  std::string name;
  void (*run)(std::string_view bytes);
};

// All linked targets by name.
const std::vector<Target>& targets();
const Target& find_target(std::string_view name);

// Runs a target. Bad-input errors are expected. All other errors and exceptions are findings and
// are rethrown.
void call(const Target& target, std::string_view bytes);

// Registers a function that stops background work of a target before exit() destroys static
// objects.
void at_end(std::function<void()> stop);
void end();

// A temporary folder of this process, in memory if the system supports it; removed at exit.
const std::filesystem::path& scratch_folder();
// Writes a file in this folder, replacing the file of the previous call.
std::filesystem::path scratch_file(std::string_view name, std::string_view bytes);

// Removes the first byte and returns it as a number below `count`; 0 for empty input.
size_t take_choice(std::string_view& bytes, size_t count);

// Splits an input into files: "== name\n", the content, "\n== name\n", … Files with unsafe names
// are skipped. Writes them to a new folder `name` in the scratch folder.
std::filesystem::path scratch_files(std::string_view name, std::string_view bytes);

namespace detail {
bool add_target(const char* name, void (*run)(std::string_view));
}

}  // namespace loci::fuzz

// Defines a target: LOCI_FUZZ_TARGET(safetensors) { … bytes … }
#define LOCI_FUZZ_TARGET(name)                              \
  static void fuzz_##name(std::string_view bytes);          \
  [[maybe_unused]] static const bool added_##name =         \
      ::loci::fuzz::detail::add_target(#name, fuzz_##name); \
  static void fuzz_##name(std::string_view bytes)
