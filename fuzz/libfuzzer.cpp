// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entries. The option --target=NAME says which parser to try, --targets lists them;
// libFuzzer leaves options with two dashes alone.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <typeinfo>

#include "loci/base/log.h"

#include "fuzz/target.h"

namespace {

const loci::fuzz::Target* chosen = nullptr;

// The server's engine computes to the end, while exit() takes libtorch's static objects away:
// leaves without that. Only a regular end comes here; findings end the process themselves.
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
    std::fprintf(stderr, "give --target=NAME\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // What is registered last is called first: again and again, for objects that are made late.
  static uint64_t calls = 0;
  ++calls;
  if ((calls & (calls - 1)) == 0) std::atexit(leave);
  try {
    loci::fuzz::call(*chosen, {reinterpret_cast<const char*>(data), size});
  } catch (const std::exception& error) {
    // Said here: the runtime's own message names the type alone.
    std::fprintf(stderr, "finding: %s: %s\n", typeid(error).name(), error.what());
    std::abort();
  }
  return 0;
}
