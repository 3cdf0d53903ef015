// SPDX-License-Identifier: Apache-2.0
// Checks messages of the server against the JSON Schema that it publishes.
#pragma once

#include <string>

#include "loci/base/config.h"

namespace loci::serve::testing {

// The first place at which `value` differs from the definition `name` of the schema; empty if it
// conforms. A field that the schema does not have is a difference, too.
std::string differs_from_schema(const Json& value, const std::string& name);

}  // namespace loci::serve::testing
