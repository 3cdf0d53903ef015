// SPDX-License-Identifier: Apache-2.0
// All recurrent memories by name: the built-in ones and those that a program registers. A model's
// config.json and a training config name one as `recurrent_memory`. docs/extending.md has a worked
// example.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loci/memory/recurrent/recurrent_memory.h"
#include "loci/memory/registry.h"

namespace loci::memory {

using RecurrentMemoryFactory = std::function<std::shared_ptr<const RecurrentMemory>()>;
using RecurrentMemoryKind = Registry<RecurrentMemoryFactory>::Entry;

// Adds a memory. Call it before anything else: the table is not locked. Throws if the name is
// taken.
void register_recurrent_memory(RecurrentMemoryKind kind);

// chunk_kda, chunk_kda_no_camera, ray_kda, token_kda, frame_deltanet, linear, ssm, none, then
// registered memories.
std::vector<std::string> recurrent_memory_names();
// Name, description and factory of a memory. An unknown name is bad input; the error lists the
// names.
const RecurrentMemoryKind& recurrent_memory_kind(const std::string& name);

// Null for "none": the block then attends to its history like a softmax block.
std::shared_ptr<const RecurrentMemory> make_recurrent_memory(const std::string& name);

}  // namespace loci::memory
