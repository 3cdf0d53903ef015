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
std::optional<Memory> machine_memory();

// What this process holds in physical memory. Nothing when /proc does not say.
struct ProcessMemory {
  uint64_t now = 0;
  uint64_t peak = 0;  // since the start, or since reset_peak_memory()
};
std::optional<ProcessMemory> process_memory();

// Makes `peak` start again from `now`; false where the kernel does not offer that.
bool reset_peak_memory();

// From now on, blocks of 4 MiB and more go back to the system the moment they are freed. By default
// the C library keeps those of up to 32 MiB, and holes between them let a long job's memory creep.
void return_large_blocks();

// Bytes an ordinary user can still write below `path`; nothing when it cannot be asked.
std::optional<uint64_t> free_disk(const std::filesystem::path& path);

// The folder of the running program.
std::filesystem::path program_folder();

}  // namespace loci
