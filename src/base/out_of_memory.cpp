// SPDX-License-Identifier: Apache-2.0
#include "loci/base/out_of_memory.h"

#include <new>
#include <string_view>
#include <system_error>

namespace loci {

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    return system->code() == std::errc::not_enough_memory;
  }
  // libtorch has no type of its own for this error.
  return std::string_view(error.what()).find("can't allocate memory") != std::string_view::npos;
}

}  // namespace loci
