// SPDX-License-Identifier: Apache-2.0
// loci bench ops: kernels one by one, beside libtorch and the processor's limit.
#pragma once

#include <CLI/CLI.hpp>

namespace loci::app {

void add_bench_ops(CLI::App& app);

}  // namespace loci::app
