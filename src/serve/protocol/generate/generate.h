// SPDX-License-Identifier: Apache-2.0
// Text that is generated from the field tables.
#pragma once

#include <string>

namespace loci::serve {

// web/src/net/protocol.ts.
std::string typescript_of_protocol();

// docs/protocol.md with the tables between its markers made anew:
//   <!-- fields init -->                 the fields of a message or map
//   <!-- fields View World -->           of several maps, in one table
//   <!-- events -->                      the kinds of events
//   <!-- names -->                       names that fields refer to, such as history policies
// each followed by a table and <!-- end -->. A field table without a marker, an unknown name, a
// value of a field that the page does not mention, and a row of more than 120 characters are bad
// input.
std::string update_markdown(const std::string& page);

}  // namespace loci::serve
