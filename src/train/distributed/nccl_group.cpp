// SPDX-License-Identifier: Apache-2.0
#include "loci/train/distributed/nccl_group.h"

#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include "loci/base/error.h"

namespace loci::train {

#ifdef USE_C10D_NCCL
c10::intrusive_ptr<c10d::Backend> make_nccl_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                  int rank, int size,
                                                  std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
}
#else
c10::intrusive_ptr<c10d::Backend> make_nccl_group(const c10::intrusive_ptr<c10d::Store>&, int, int,
                                                  std::chrono::milliseconds) {
  fail(
      "several ranks with device \"cuda\" need NCCL, but this program was built without it; build "
      "it with a CUDA libtorch and nccl.h, or set device to \"cpu\"");
}
#endif

}  // namespace loci::train
