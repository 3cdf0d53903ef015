// SPDX-License-Identifier: Apache-2.0
// What the kernel says about this machine: processor, memory, disk. Limits of a container count.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace loci {

struct Processor {
  std::string model;  // "AMD EPYC 7B13", "unknown" if the system does not say
  int cores = 1;      // physical cores of the machine
  int threads = 1;    // hardware threads this process may run on (affinity, container quota)
};
Processor processor();

struct Memory {
  uint64_t total = 0;      // bytes, at most the container's limit
  uint64_t available = 0;  // bytes that can be taken without swapping
};
// Nothing when /proc is not there.
std::optional<Memory> memory();

// Bytes an ordinary user can still write below `path`; nothing when it cannot be asked.
std::optional<uint64_t> free_disk(const std::filesystem::path& path);

// The folder of the running program.
std::filesystem::path program_folder();

}  // namespace loci
