// SPDX-License-Identifier: Apache-2.0
// Reads Python pickles (protocols 2 to 5) as plain data. Nothing is imported or executed: a host
// interprets names and calls from a fixed list.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace loci::io {

struct PickleNode {
  enum class Kind {
    kNone,
    kBool,    // integer is 0 or 1
    kInt,     // integer
    kFloat,   // number
    kText,    // text
    kBytes,   // text
    kTuple,   // items
    kList,    // items
    kSet,     // items
    kDict,    // items: key, value, key, value, …
    kGlobal,  // text is "module.name"
    kObject,  // created by the host: text is its kind, integer its index
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<PickleNode*> items;
};

// The text of a dictionary that represents a module, before it is replaced by its attributes.
inline constexpr std::string_view kPickleModule = "module";

// A description for messages: "a list", "a tensor", "the name torch.float32".
std::string describe(const PickleNode& node);

// Owns the nodes of a pickle. Nodes may refer to each other, also in cycles.
class PickleArena {
 public:
  explicit PickleArena(std::string source) : source_(std::move(source)) {}

  // Bad input if the values exceed a memory limit.
  PickleNode* make(PickleNode node);
  const std::string& source() const { return source_; }

 private:
  std::string source_;
  std::deque<PickleNode> nodes_;
  size_t memory_ = 0;
};

class PickleHost {
 public:
  virtual ~PickleHost() = default;
  // Whether the pickle may refer to "module.name". If not, it is bad input.
  virtual bool allows(std::string_view global) const = 0;
  // The result of calling an allowed name with a tuple of arguments.
  virtual PickleNode* call(PickleArena& arena, std::string_view global,
                           const PickleNode& arguments) = 0;
  // The value of a persistent id: data outside the pickle.
  virtual PickleNode* load(PickleArena& arena, const PickleNode& id) = 0;
};

// Returns the value of the pickle, which the arena owns. A damaged pickle, an operation that plain
// data does not need, or a name that the host does not allow is bad input.
const PickleNode* parse_pickle(std::string_view bytes, PickleArena& arena, PickleHost& host);

}  // namespace loci::io
