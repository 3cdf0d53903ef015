// SPDX-License-Identifier: Apache-2.0
// Entry points of libFuzzer. The option --target=NAME selects a parser, --targets lists them.
// libFuzzer ignores options with two dashes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <typeinfo>

#include "loci/base/log.h"

#include "fuzz/target.h"

namespace {

const loci::fuzz::Target* chosen = nullptr;

// The server's engine may still compute while exit() destroys libtorch's static objects, so this
// ends the process without destructors. Only called at a regular end; findings end the process
// themselves.
void leave() {
  std::error_code ignored;
  std::filesystem::remove_all(loci::fuzz::scratch_folder(), ignored);
  std::_Exit(0);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr const char* kOption = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const char* argument = (*argv)[i];
    if (std::strcmp(argument, "--targets") == 0) {
      for (const loci::fuzz::Target& target : loci::fuzz::targets()) std::puts(target.name.c_str());
      std::exit(0);
    }
    if (std::strncmp(argument, kOption, std::strlen(kOption)) != 0) continue;
    try {
      chosen = &loci::fuzz::find_target(argument + std::strlen(kOption));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "usage: --target=NAME; --targets lists the names\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Handlers run in reverse order of registration. Registered at every call, to run before the
  // destructors of objects that are created later.
  static uint64_t calls = 0;
  ++calls;
  if ((calls & (calls - 1)) == 0) std::atexit(leave);
  try {
    loci::fuzz::call(*chosen, {reinterpret_cast<const char*>(data), size});
  } catch (const std::exception& error) {
    // The message of the C++ runtime would contain only the type.
    std::fprintf(stderr, "finding: %s: %s\n", typeid(error).name(), error.what());
    std::abort();
  }
  return 0;
}
