// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace loci {

// Whether an error says that memory could not be allocated: std::bad_alloc, the error of libtorch's
// allocator, or ENOMEM.
bool is_out_of_memory(const std::exception& error);

}  // namespace loci
