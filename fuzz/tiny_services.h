// SPDX-License-Identifier: Apache-2.0
// The services of a server with a tiny model, shared by all targets of a process.
#pragma once

#include "loci/serve/engine/services.h"

namespace loci::fuzz {

// Created at the first call. Limits are small, and there are none on the rate of requests.
serve::Services& tiny_services();

}  // namespace loci::fuzz
