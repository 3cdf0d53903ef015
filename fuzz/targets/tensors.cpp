// SPDX-License-Identifier: Apache-2.0
// Tensor files: safetensors, GGUF, torch.save, NumPy.
#include <ATen/ATen.h>

#include "loci/io/tensors/checkpoint.h"
#include "loci/io/tensors/gguf/gguf.h"
#include "loci/io/tensors/npy.h"
#include "loci/io/tensors/pickle.h"
#include "loci/io/tensors/pth.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/io/tensors/torch_pickle.h"
#include "loci/io/tensors/zip.h"

#include "fuzz/target.h"

namespace loci::fuzz {

namespace {

// Reads every byte of a tensor to detect tensors that exceed their file.
void touch(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() > (1 << 20)) return;
  const at::Tensor dense = tensor.clone(at::MemoryFormat::Contiguous);
  const auto* bytes = static_cast<const volatile unsigned char*>(dense.const_data_ptr());
  unsigned char sum = 0;
  for (size_t i = 0; i < dense.nbytes(); ++i) sum = static_cast<unsigned char>(sum + bytes[i]);
}

template <typename File>
void touch_all(const File& file) {
  for (const io::TensorInfo& info : file.tensors()) touch(file.tensor(info.name));
}

}  // namespace

LOCI_FUZZ_TARGET(safetensors) { touch_all(io::SafetensorsFile::open(scratch_file("file", bytes))); }

LOCI_FUZZ_TARGET(gguf) { touch_all(io::GgufFile::open(scratch_file("file", bytes))); }

// A sharded checkpoint: the index and its files.
LOCI_FUZZ_TARGET(shards) { touch_all(io::Checkpoint::open(scratch_files("folder", bytes))); }

LOCI_FUZZ_TARGET(pth) {
  const bool unwrap = take_choice(bytes, 2) == 0;
  touch_all(io::PthFile::open(scratch_file("file", bytes), unwrap));
}

// The pickle of a torch.save file without the zip archive, whose checksums would reject mutations.
LOCI_FUZZ_TARGET(pickle) {
  io::PickleArena arena("the pickle");
  io::TorchPickleHost host("the pickle", [](const std::string& key) -> std::optional<uint64_t> {
    if (key.size() > 2) return std::nullopt;
    return 4096;
  });
  describe(*io::parse_pickle(bytes, arena, host));
}

LOCI_FUZZ_TARGET(npy) { touch(io::read_npy_bytes(bytes, "the array")); }

LOCI_FUZZ_TARGET(npz) {
  for (const auto& [name, tensor] : io::read_npz(scratch_file("file", bytes))) touch(tensor);
}

LOCI_FUZZ_TARGET(zip) {
  const io::ZipArchive archive = io::ZipArchive::open(scratch_file("file", bytes));
  for (const io::ZipEntry& entry : archive.entries()) {
    if (entry.bytes < (1 << 22)) archive.read_verified(entry);
  }
}

}  // namespace loci::fuzz
