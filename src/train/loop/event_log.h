// SPDX-License-Identifier: Apache-2.0
// Event files for TensorBoard: records with checksums, each a protocol buffer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace loci::train {

class EventLog {
 public:
  // The first record creates a new file in `folder`. TensorBoard joins all files of a folder.
  explicit EventLog(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void scalar(std::string_view tag, int64_t step, double value);
  // uint8 [H, W, 3].
  void image(std::string_view tag, int64_t step, const at::Tensor& picture);

 private:
  void write(int64_t step, std::string_view summary);
  void record(std::string_view data);

  std::filesystem::path folder_;
  std::filesystem::path file_;
  std::ofstream out_;
};

// CRC-32C (Castagnoli), the checksum of the records.
uint32_t crc32c(std::string_view bytes);

}  // namespace loci::train
