// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "loci/base/error.h"
#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

namespace {

using Kind = PickleNode::Kind;

// Memory limit for the values of a pickle: enough for half a million tensors.
constexpr size_t kMaxMemory = size_t{1} << 30;

// Named as in Python's pickletools.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kNoneOp = 'N',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kBinFloat = 'G',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kEmptyTuple = ')',
  kTupleOp = 't',
  kEmptyList = ']',
  kListOp = 'l',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyDict = '}',
  kDictOp = 'd',
  kSetItem = 's',
  kSetItems = 'u',
  kGlobalOp = 'c',
  kReduce = 'R',
  kBuild = 'b',
  kBinPersId = 'Q',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, PickleArena& arena, PickleHost& host)
      : bytes_(bytes), arena_(arena), host_(host) {}

  const PickleNode* run() {
    if (bytes_.empty() || static_cast<uint8_t>(bytes_[0]) != kProto) {
      fail("{}: the pickle has no protocol number; it is damaged or older than protocol 2",
           arena_.source());
    }
    for (;;) {
      const auto opcode = read<uint8_t>();
      if (opcode == kStop) break;
      if (!run_value(opcode) && !run_container(opcode) && !run_reference(opcode)) {
        fail("{}: the pickle has the operation 0x{:02x} at byte {}, which no file of tensors needs",
             arena_.source(), opcode, position_ - 1);
      }
    }
    return pop();
  }

 private:
  [[noreturn]] void damaged(std::string_view why) const {
    fail("{}: the pickle is damaged at byte {}: {}", arena_.source(), position_, why);
  }

  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - position_) damaged("it ends too early");
    const std::string_view piece = bytes_.substr(position_, size);
    position_ += size;
    return piece;
  }

  template <typename T>
  T read() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::string_view take_line() {
    const size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) damaged("it ends too early");
    const std::string_view line = take(end - position_);
    ++position_;
    return line;
  }

  void push(PickleNode* node) { stack_.push_back(node); }
  PickleNode* push_new(PickleNode node) {
    push(arena_.make(std::move(node)));
    return stack_.back();
  }
  void push_text(Kind kind, std::string_view text) {
    push_new({.kind = kind, .text = std::string(text)});
  }
  void push_int(int64_t value) { push_new({.kind = Kind::kInt, .integer = value}); }

  // Only values above the last mark; an operation must not access values below it.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleNode* top() const {
    if (stack_.size() <= floor()) damaged("a value is missing");
    return stack_.back();
  }
  PickleNode* pop() {
    PickleNode* node = top();
    stack_.pop_back();
    return node;
  }
  std::vector<PickleNode*> pop_mark() {
    if (marks_.empty()) damaged("a mark is missing");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleNode*> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }
  void push_tuple(size_t size) {
    std::vector<PickleNode*> items(size);
    for (size_t i = size; i-- > 0;) items[i] = pop();
    push_new({.kind = Kind::kTuple, .items = std::move(items)});
  }
  void extend_top(Kind kind, const std::vector<PickleNode*>& items) {
    PickleNode* container = top();
    if (container->kind != kind) damaged("items are added to " + describe(*container));
    if (kind == Kind::kDict && items.size() % 2 != 0) damaged("a key has no value");
    container->items.insert(container->items.end(), items.begin(), items.end());
  }

  // Scalars.
  bool run_value(uint8_t opcode) {
    switch (opcode) {
      case kNoneOp:
        push_new({});
        return true;
      case kNewTrue:
      case kNewFalse:
        push_new({.kind = Kind::kBool, .integer = opcode == kNewTrue});
        return true;
      case kBinInt:
        push_int(read<int32_t>());
        return true;
      case kBinInt1:
        push_int(read<uint8_t>());
        return true;
      case kBinInt2:
        push_int(read<uint16_t>());
        return true;
      case kLong1:
        push_int(read_long(read<uint8_t>()));
        return true;
      case kBinFloat:
        push_new({.kind = Kind::kFloat,
                  .number = std::bit_cast<double>(__builtin_bswap64(read<uint64_t>()))});
        return true;
      case kShortBinUnicode:
        push_text(Kind::kText, take(read<uint8_t>()));
        return true;
      case kBinUnicode:
        push_text(Kind::kText, take(read<uint32_t>()));
        return true;
      case kBinUnicode8:
        push_text(Kind::kText, take(read<uint64_t>()));
        return true;
      case kShortBinString:  // strings of Python 2
        push_text(Kind::kText, take(read<uint8_t>()));
        return true;
      case kBinString:
        push_text(Kind::kText, take(read<uint32_t>()));
        return true;
      case kShortBinBytes:
        push_text(Kind::kBytes, take(read<uint8_t>()));
        return true;
      case kBinBytes:
        push_text(Kind::kBytes, take(read<uint32_t>()));
        return true;
      case kBinBytes8:
        push_text(Kind::kBytes, take(read<uint64_t>()));
        return true;
      default:
        return false;
    }
  }

  bool run_container(uint8_t opcode) {
    switch (opcode) {
      case kEmptyTuple:
        push_tuple(0);
        return true;
      case kTuple1:
        push_tuple(1);
        return true;
      case kTuple2:
        push_tuple(2);
        return true;
      case kTuple3:
        push_tuple(3);
        return true;
      case kTupleOp:
        push_new({.kind = Kind::kTuple, .items = pop_mark()});
        return true;
      case kEmptyList:
        push_new({.kind = Kind::kList});
        return true;
      case kListOp:
        push_new({.kind = Kind::kList, .items = pop_mark()});
        return true;
      case kAppend:
        extend_top(Kind::kList, {pop()});
        return true;
      case kAppends:
        extend_top(Kind::kList, pop_mark());
        return true;
      case kEmptySet:
        push_new({.kind = Kind::kSet});
        return true;
      case kFrozenSet:
        push_new({.kind = Kind::kSet, .items = pop_mark()});
        return true;
      case kAddItems:
        extend_top(Kind::kSet, pop_mark());
        return true;
      case kEmptyDict:
        push_new({.kind = Kind::kDict});
        return true;
      case kDictOp: {
        const auto items = pop_mark();
        push_new({.kind = Kind::kDict});
        extend_top(Kind::kDict, items);
        return true;
      }
      case kSetItem: {
        PickleNode* value = pop();
        PickleNode* key = pop();
        extend_top(Kind::kDict, {key, value});
        return true;
      }
      case kSetItems:
        extend_top(Kind::kDict, pop_mark());
        return true;
      default:
        return false;
    }
  }

  // Stack, memo, names and calls.
  bool run_reference(uint8_t opcode) {
    switch (opcode) {
      case kProto: {
        const auto version = read<uint8_t>();
        if (version < 2 || version > 5) damaged(fmt::format("protocol {} is unknown", version));
        return true;
      }
      case kFrame:
        read<uint64_t>();  // the size of the frame, a hint for reading ahead
        return true;
      case kMark:
        marks_.push_back(stack_.size());
        return true;
      case kPop:
        if (!marks_.empty() && marks_.back() == stack_.size()) {
          marks_.pop_back();
        } else {
          pop();
        }
        return true;
      case kPopMark:
        pop_mark();
        return true;
      case kDup:
        push(top());
        return true;
      case kBinPut:
        memo_[read<uint8_t>()] = top();
        return true;
      case kLongBinPut:
        memo_[read<uint32_t>()] = top();
        return true;
      case kMemoize:
        memo_[memo_.size()] = top();
        return true;
      case kBinGet:
        push_memo(read<uint8_t>());
        return true;
      case kLongBinGet:
        push_memo(read<uint32_t>());
        return true;
      case kGlobalOp: {
        const std::string module(take_line());
        push_global(module + "." + std::string(take_line()));
        return true;
      }
      case kStackGlobal: {
        const PickleNode* name = pop();
        const PickleNode* module = pop();
        if (name->kind != Kind::kText || module->kind != Kind::kText) damaged("a name is not text");
        push_global(module->text + "." + name->text);
        return true;
      }
      case kReduce:
      case kNewObj: {
        const PickleNode* arguments = pop();
        const PickleNode* callee = pop();
        if (callee->kind != Kind::kGlobal || arguments->kind != Kind::kTuple) {
          damaged(describe(*callee) + " is called");
        }
        push(host_.call(arena_, callee->text, *arguments));
        return true;
      }
      case kBuild:
        // The attributes of a dictionary, such as the version numbers of a state_dict, contain no
        // tensors. The attributes of a module are its contents. Other values have no attributes.
        build(pop());
        return true;
      case kBinPersId:
        push(host_.load(arena_, *pop()));
        return true;
      default:
        return false;
    }
  }

  void build(PickleNode* state) {
    if (top()->kind != Kind::kDict) damaged("attributes are set on " + describe(*top()));
    // Moves the state into the module. A copy could be repeated to exhaust memory.
    if (top()->text != kPickleModule || state->kind != Kind::kDict) return;
    pop();
    push(state);
  }

  int64_t read_long(size_t size) {
    if (size > 8) damaged("an integer has more than 64 bits");
    const std::string_view digits = take(size);
    uint64_t value = 0;
    std::memcpy(&value, digits.data(), size);
    // Two's complement of `size` bytes.
    const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
    return size == 0 ? 0 : static_cast<int64_t>(value << unused) >> unused;
  }

  void push_memo(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) damaged("it refers to a value that does not exist");
    push(found->second);
  }

  void push_global(const std::string& name) {
    if (!host_.allows(name)) {
      fail(
          "{}: the file requests to run '{}', which is not allowed; only tensors in plain "
          "dictionaries and lists can be read; save only the state_dict()",
          arena_.source(), printable(name));
    }
    push_text(Kind::kGlobal, name);
  }

  std::string_view bytes_;
  PickleArena& arena_;
  PickleHost& host_;
  size_t position_ = 0;
  std::vector<PickleNode*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleNode*> memo_;
};

}  // namespace

std::string describe(const PickleNode& node) {
  switch (node.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return "a truth value";
    case Kind::kInt:
    case Kind::kFloat:
      return "a number";
    case Kind::kText:
      return "a text";
    case Kind::kBytes:
      return "bytes";
    case Kind::kTuple:
      return "a tuple";
    case Kind::kList:
      return "a list";
    case Kind::kSet:
      return "a set";
    case Kind::kDict:
      return "a dictionary";
    case Kind::kGlobal:
      return "the name " + printable(node.text);
    case Kind::kObject:
      return "a " + node.text;
  }
  return "nothing";
}

PickleNode* PickleArena::make(PickleNode node) {
  memory_ += sizeof(PickleNode) + node.text.size() + node.items.size() * sizeof(void*);
  if (memory_ > kMaxMemory) {
    fail("{}: the pickle has more values than a file of tensors needs; refused", source_);
  }
  nodes_.push_back(std::move(node));
  return &nodes_.back();
}

const PickleNode* parse_pickle(std::string_view bytes, PickleArena& arena, PickleHost& host) {
  return PickleMachine(bytes, arena, host).run();
}

}  // namespace loci::io
