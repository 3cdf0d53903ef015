// SPDX-License-Identifier: Apache-2.0
#include "loci/base/error.h"

#include <cstring>

namespace loci {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kBadInput:
      return 2;
    case ErrorKind::kMachine:
      return 3;
    case ErrorKind::kCheckFailed:
    case ErrorKind::kInternal:
      return 1;
  }
  return 1;
}

namespace detail {

void internal_error(const char* file, int line, const char* condition, const std::string& message) {
  const char* name = std::strrchr(file, '/');
  throw Error(ErrorKind::kInternal, fmt::format("{} [{} is false at {}:{}]", message, condition,
                                                name ? name + 1 : file, line));
}

}  // namespace detail
}  // namespace loci
