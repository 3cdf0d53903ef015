// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/tensor_bytes.h"

#include "loci/base/interrupt.h"

namespace loci::io {

void for_each_piece(const at::Tensor& tensor, const std::function<void(std::string_view)>& take) {
  constexpr size_t kPieceBytes = size_t{16} << 20;
  const at::Tensor dense = tensor.detach().to(at::kCPU).resolve_conj().resolve_neg().contiguous();
  std::string_view rest(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
  while (!rest.empty()) {
    check_interrupt();
    const std::string_view piece = rest.substr(0, kPieceBytes);
    take(piece);
    rest.remove_prefix(piece.size());
  }
}

}  // namespace loci::io
