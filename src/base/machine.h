// SPDX-License-Identifier: Apache-2.0
// Properties of the machine: processor, memory and disk, including limits of a container.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace loci {

struct Processor {
  std::string model;  // e.g. "AMD EPYC 7B13"; "unknown" if not available
  int cores = 1;      // physical cores of the machine
  int threads = 1;    // hardware threads this process may run on (affinity, container quota)
};
Processor processor();

struct Memory {
  uint64_t total = 0;      // bytes, at most the container's limit
  uint64_t available = 0;  // bytes that can be allocated without swapping
};
// nullopt without /proc.
std::optional<Memory> machine_memory();

// Resident memory of this process in bytes. nullopt if /proc does not report it.
struct ProcessMemory {
  uint64_t now = 0;
  uint64_t peak = 0;  // since the start, or since reset_peak_memory()
};
std::optional<ProcessMemory> process_memory();

// Resets `peak` to `now`. Returns false if the kernel does not support it.
bool reset_peak_memory();

// After this call, freed blocks of at least 4 MiB return to the operating system immediately. By
// default the C library keeps blocks of up to 32 MiB, and fragmentation makes memory grow.
void return_large_blocks();

// Raises this process's limit of open files as far as the system allows and returns it.
uint64_t raise_open_file_limit();

// Free bytes for ordinary users on the file system of `path`; nullopt if it cannot be determined.
std::optional<uint64_t> free_disk(const std::filesystem::path& path);

// The folder of the running program.
std::filesystem::path program_folder();

}  // namespace loci
