// SPDX-License-Identifier: Apache-2.0
// A parser under test: what libFuzzer calls with bytes of its own, and a test with those it found.
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

// Every target that is linked in, by name.
const std::vector<Target>& targets();
const Target& find_target(std::string_view name);

// Refusals of bad input are what a parser is for. Anything else that comes out is a finding and is
// thrown: errors of the machine and of ours, other exceptions.
void call(const Target& target, std::string_view bytes);

// What a target left running ends before the process does: exit() takes static objects away from
// under it.
void at_end(std::function<void()> stop);
void end();

// A folder of this process, in memory where the system has one; removed at exit.
const std::filesystem::path& scratch_folder();
// A file in it with this content, replacing that of the call before.
std::filesystem::path scratch_file(std::string_view name, std::string_view bytes);

// The first byte as a choice out of `count`, taken off; 0 when there is none.
size_t take_choice(std::string_view& bytes, size_t count);

// Files in one input: "== name\n", the content, "\n== name\n", … Names that could lead elsewhere
// are left out. Written into a fresh folder `name` of the scratch folder.
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
