// SPDX-License-Identifier: Apache-2.0
// Tells sets of weights apart.
#pragma once

#include <string>

#include "loci/model/weights/parameters.h"

namespace loci::model {

// 16 hexadecimal digits over the names, shapes, types and every byte of the parameters. Not a
// cryptographic hash: it finds mistakes, not forgeries.
std::string weight_hash(const Parameters& parameters);

}  // namespace loci::model
