// SPDX-License-Identifier: Apache-2.0
// Python pickles (protocols 2 to 5) as plain data. Nothing is imported and nothing is called: what
// a name or a call means is up to a host that knows a fixed list of them.
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
    kObject,  // made by the host: text says what it is, integer which one
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<PickleNode*> items;
};

// The text of a dictionary that stands for a module; the dictionary of its attributes replaces it.
inline constexpr std::string_view kPickleModule = "module";

// "a list", "a tensor", "the name torch.float32": for messages.
std::string describe(const PickleNode& node);

// Owns the nodes of a pickle, which may refer to each other in any way, cycles included.
class PickleArena {
 public:
  explicit PickleArena(std::string source) : source_(std::move(source)) {}

  // Bad input when the values take absurdly much memory.
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
  // Whether the pickle may name "module.name" at all; if not, it is refused with that name.
  virtual bool allows(std::string_view global) const = 0;
  // The value of calling an allowed name with a tuple of arguments.
  virtual PickleNode* call(PickleArena& arena, std::string_view global,
                           const PickleNode& arguments) = 0;
  // The value of a persistent id: data that stands beside the pickle.
  virtual PickleNode* load(PickleArena& arena, const PickleNode& id) = 0;
};

// Returns the value that the pickle describes; it lives in the arena. A damaged pickle, an
// operation that no plain data needs, or a name the host does not allow is bad input.
const PickleNode* parse_pickle(std::string_view bytes, PickleArena& arena, PickleHost& host);

}  // namespace loci::io
