// SPDX-License-Identifier: Apache-2.0
// The field tables as JSON Schema, for `GET /schema`.
#pragma once

#include "loci/base/config.h"
#include "loci/serve/net/limits.h"

namespace loci::serve {

// Ranges are those of `limits`.
Json protocol_schema(const Limits& limits);

}  // namespace loci::serve
