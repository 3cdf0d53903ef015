// SPDX-License-Identifier: Apache-2.0
// multipart/form-data, as browsers and curl send forms with files.
#pragma once

#include <string>
#include <string_view>

#include "loci/base/config.h"

namespace loci::serve {

// A map: fields as text, files as bytes. Refused ("bad_request") if it is none.
Json parse_multipart(std::string_view content_type, std::string_view body);

}  // namespace loci::serve
