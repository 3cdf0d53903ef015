// SPDX-License-Identifier: Apache-2.0
// Identifies weights.
#pragma once

#include <string>

#include "loci/model/weights/parameters.h"

namespace loci::model {

// 16 hexadecimal digits computed from the names, shapes, types and all bytes of the parameters. Not
// a cryptographic hash: it detects mistakes, not manipulation.
std::string weight_hash(const Parameters& parameters);

}  // namespace loci::model
