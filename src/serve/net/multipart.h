// SPDX-License-Identifier: Apache-2.0
// Parser of multipart/form-data, the format of forms with files.
#pragma once

#include <string>
#include <string_view>

#include "loci/base/config.h"

namespace loci::serve {

// The form as a map: fields are strings, files are bytes. A malformed form is refused
// ("bad_request").
Json parse_multipart(std::string_view content_type, std::string_view body);

}  // namespace loci::serve
