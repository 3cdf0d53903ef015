// SPDX-License-Identifier: Apache-2.0
// Field tables: one per message, and one per map inside of a message. They are the only definition
// of the protocol's fields. The parser of client messages, the encoder of server messages, the JSON
// Schema, the page's TypeScript types and the tables of docs/protocol.md are derived from them.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loci/serve/protocol/wire.h"

namespace loci::serve {

struct FieldInfo {
  std::string name;
  std::string description;  // one line
  TypeInfo type;
  Rules rules;
  bool required = false;     // present in every message
  bool nullable = false;     // the value may be null
  std::string fallback;      // the default, in words
  std::string alias;         // another name under which clients may send it
  std::string ignored_with;  // if this other field is present, this one is not read
  std::string constant;      // the field always has this value
  bool hidden = false;       // read, but not part of the published protocol

  std::function<void(void* object, const WireValue& value)> read;
  std::function<void(const void* object, Json& json)> write;

  // Rules, chained after Table::field(). or_null() is for the server: an empty value is sent as
  // null.
  FieldInfo& require();
  FieldInfo& or_null();
  FieldInfo& default_is(std::string words);
  FieldInfo& between(Bound low, Bound high);
  FieldInfo& at_least(Bound low);
  FieldInfo& clamp(double low, double high);
  // Bytes of a string, items of a list.
  FieldInfo& at_most(Bound most);
  FieldInfo& one_of(std::vector<std::string> choices);
  FieldInfo& one_of(std::string registry, std::function<std::vector<std::string>()> names);
  FieldInfo& also_named(std::string other);
  // For clients: null is documented. The parser treats null as absent in any field.
  FieldInfo& null_allowed();
  // The schema, the page and the documentation have the type T.
  template <typename T>
  FieldInfo& typed() {
    type = Wire<T>::type();
    return *this;
  }
};

// A table without the C++ type of its object.
struct TableInfo {
  std::string name;         // of a message: its `type`; otherwise of the definition in the schema
  std::string description;  // one line
  bool is_message = false;
  std::vector<FieldInfo> fields;

  const FieldInfo* find(const std::string& field) const;
  // As other definitions refer to it.
  TypeInfo type() const;
  std::string typescript_name() const;

 protected:
  // Null counts as absent; unknown fields are ignored. `where` names the object in errors.
  void read_fields(void* object, const Json& json, const Limits& limits,
                   const std::string& where) const;
  Json write_fields(const void* object) const;
};

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T>
concept Readable = requires(const WireValue& value) {
  Wire<T>::read(value);
};
template <typename T>
concept Writable = requires(const T& value) {
  Wire<T>::write(value);
};

template <typename T>
struct Table : TableInfo {
  static Table message(std::string type, std::string description) {
    Table table;
    table.name = std::move(type);
    table.description = std::move(description);
    table.is_message = true;
    table.constant("type", table.name);
    return table;
  }
  static Table map(std::string name, std::string description) {
    Table table;
    table.name = std::move(name);
    table.description = std::move(description);
    return table;
  }

  // A field that is a member of T. An empty std::optional is left out, or null with or_null().
  template <typename Member>
  FieldInfo& field(const char* field_name, Member T::*member, const char* text);

  // A field that clients may send, or that the server sends, without it being a member of T.
  template <typename Type>
  FieldInfo& described(const char* field_name, const char* text) {
    return add(field_name, text, Wire<Type>::type());
  }

  void constant(const char* field_name, const std::string& value) {
    FieldInfo& added =
        add(field_name, "", {{{"const", value}}, "\"" + value + "\"", "`\"" + value + "\"`"});
    added.constant = value;
    added.required = true;
  }

  // The fields of a member that is a table itself, side by side with this one's. Fields of an
  // optional member come together or not at all. Those in `hidden` are read, but not published.
  template <typename Member>
  void include(Member T::*member, const std::vector<std::string>& hidden_names = {});

  T read(const Json& json, const Limits& limits, const std::string& where = {}) const {
    T object{};
    read_fields(&object, json, limits, where);
    return object;
  }
  Json write(const T& object) const { return write_fields(&object); }

 private:
  FieldInfo& add(const char* field_name, const char* text, TypeInfo field_type) {
    FieldInfo& added = fields.emplace_back();
    added.name = field_name;
    added.description = text;
    added.type = std::move(field_type);
    return added;
  }
};

// A client's map as a C++ object; anything that the table does not allow is refused.
template <typename T>
T parse(const Json& json, const Limits& limits) {
  return table_of<T>().read(json, limits);
}

// A message or map of the server.
template <typename T>
Json to_wire(const T& object) {
  return table_of<T>().write(object);
}

template <typename T>
template <typename Member>
FieldInfo& Table<T>::field(const char* field_name, Member T::*member, const char* text) {
  const auto with_value = [&]<typename Value>(std::type_identity<Value>) -> FieldInfo& {
    FieldInfo& added = add(field_name, text, Wire<Value>::type());
    if constexpr (Readable<Value>) {
      added.read = [member](void* object, const WireValue& value) {
        static_cast<T*>(object)->*member = Wire<Value>::read(value);
      };
    }
    if constexpr (Writable<Value>) {
      added.write = [member, key = added.name](const void* object, Json& json) {
        const Member& held = static_cast<const T*>(object)->*member;
        if constexpr (IsOptional<Member>::value) {
          if (held) json[key] = Wire<Value>::write(*held);
        } else {
          json[key] = Wire<Value>::write(held);
        }
      };
    }
    return added;
  };
  if constexpr (IsOptional<Member>::value) {
    return with_value(std::type_identity<typename Member::value_type>{});
  } else {
    return with_value(std::type_identity<Member>{});
  }
}

template <typename T>
template <typename Member>
void Table<T>::include(Member T::*member, const std::vector<std::string>& hidden_names) {
  const auto with_part = [&]<typename Part>(std::type_identity<Part>) {
    for (FieldInfo field : table_of<Part>().fields) {
      for (const std::string& hidden_name : hidden_names) {
        field.hidden = field.hidden || field.name == hidden_name;
      }
      if constexpr (IsOptional<Member>::value) {
        field.required = false;
        field.write = [member, write = std::move(field.write), key = field.name,
                       nullable = field.nullable](const void* object, Json& json) {
          const Member& part = static_cast<const T*>(object)->*member;
          if (!part) return;
          if (nullable) json[key] = nullptr;
          write(&*part, json);
        };
        field.read = nullptr;
      } else {
        if (field.read) {
          field.read = [member, read = std::move(field.read)](void* object,
                                                              const WireValue& value) {
            read(&(static_cast<T*>(object)->*member), value);
          };
        }
        if (field.write) {
          field.write = [member, write = std::move(field.write)](const void* object, Json& json) {
            write(&(static_cast<const T*>(object)->*member), json);
          };
        }
      }
      fields.push_back(std::move(field));
    }
  };
  if constexpr (IsOptional<Member>::value) {
    with_part(std::type_identity<typename Member::value_type>{});
  } else {
    with_part(std::type_identity<Member>{});
  }
}

}  // namespace loci::serve
