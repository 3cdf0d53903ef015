// SPDX-License-Identifier: Apache-2.0
#include "loci/app/bench/measure_block.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "loci/app/bench/torch_script.h"
#include "loci/base/error.h"
#include "loci/base/file.h"

namespace loci::app {

namespace {

namespace fs = std::filesystem;
using eval::BlockKind;

constexpr double kLatentsPerSecond = 4;  // 16 frames per second, 4 per latent
constexpr int64_t kRetained = 29;        // default budget of a bounded history in frames

// Past frames that a chunk attends to: the budget of a bounded history, or the mean over the chunks
// in the first `seconds` of a stream with a dense history.
int64_t past_frames(const BenchBlockOptions& o, const std::string& history, int64_t chunk) {
  if (history == "sparse") return kRetained;
  const auto size = static_cast<double>(chunk);
  const double chunks = std::max(1.0, std::ceil(o.seconds * kLatentsPerSecond / size));
  return static_cast<int64_t>(1 + size * (chunks - 1) / 2);
}

// The case file and the script's results. The destructor removes them.
struct CaseFiles {
  fs::path file = fs::temp_directory_path() / fmt::format("loci-block-{}.safetensors", getpid());
  fs::path result(BlockKind kind) const {
    return file.string() + "." + std::string(eval::name_of(kind));
  }
  ~CaseFiles() {
    std::error_code ignored;
    fs::remove(file, ignored);
    for (const BlockKind kind : eval::kBlockKinds) fs::remove(result(kind), ignored);
  }
};

// Norm of the difference divided by the norm of the block's residual.
double difference(const at::Tensor& ours, const fs::path& theirs, const at::Tensor& input) {
  const std::string bytes = read_file(theirs);
  if (bytes.size() != ours.nbytes()) fail_check("{} has {} bytes", theirs.string(), bytes.size());
  at::Tensor other = at::empty_like(ours, at::MemoryFormat::Contiguous);
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(other.mutable_data_ptr()));
  return ((ours - other).norm() / (other - input).norm()).item<double>();
}

void keep_best(eval::CallCost& best, const eval::CallCost& cost) {
  best.seconds = std::min(best.seconds, cost.seconds);
  best.processor = std::min(best.processor, cost.processor);
}

}  // namespace

eval::ChunkStepOptions step_options(const BenchBlockOptions& o, const BlockPreset& preset,
                                    const std::string& history) {
  eval::ChunkStepOptions options;
  options.grid = preset.grid;
  options.past_frames = past_frames(o, history, preset.config.chunk_size);
  options.bounded = history == "sparse";
  options.dtype = chosen(kBlockDtypes, o.dtype).type;
  options.kv = memory::parse_kv_format(o.kv);
  options.staging_bytes = o.staging_mib << 20;
  return options;
}

std::vector<BlockRow> measure_blocks(const BenchBlockOptions& o, const BlockPreset& preset,
                                     const eval::BlockPair& blocks, const std::string& history) {
  const eval::ChunkStep step(blocks.config(), step_options(o, preset, history));
  const CaseFiles files;
  if (!o.compare.empty()) {
    blocks.write_case(files.file, step,
                      chosen(kBlockDtypes, o.torch_dtype == "same" ? o.dtype : o.torch_dtype).type);
  }
  std::vector<BlockRow> rows;
  for (const BlockKind kind : eval::kBlockKinds) {
    const bool hybrid = kind == BlockKind::kHybrid;
    BlockRow& row = rows.emplace_back();
    row.kind = kind;
    row.history = history;
    row.past_frames = step.options().past_frames;
    row.keys = step.past_tokens() + step.tokens();
    row.work =
        model::block_work(blocks.config(), hybrid, step.tokens(), step.past_tokens(), o.commit);
    row.ours = {1e300, 1e300};
  }
  for (int64_t turn = 0; turn < o.repeats; ++turn) {
    std::vector<at::Tensor> results;
    for (BlockRow& row : rows) {
      at::Tensor& result = results.emplace_back();
      keep_best(row.ours, eval::cost_of([&] { result = blocks.run(step, row.kind, o.commit); }));
    }
    if (o.compare.empty()) continue;
    const Json theirs =
        run_torch_script(o.python, o.script,
                         fmt::format("'{}' --threads {}{}", files.file.string(),
                                     at::get_num_threads(), o.commit ? " --commit" : ""));
    for (size_t i = 0; i < rows.size(); ++i) {
      BlockRow& row = rows[i];
      const Json& cost = theirs.at(std::string(eval::name_of(row.kind)));
      if (!row.torch) row.torch = {1e300, 1e300};
      keep_best(*row.torch, {cost.at("seconds"), cost.at("processor_seconds")});
      row.error = difference(results[i], files.result(row.kind), blocks.input());
      const double most =
          std::max(chosen(kBlockDtypes, o.dtype).tolerance,
                   o.torch_dtype == "same" ? 0 : chosen(kBlockDtypes, o.torch_dtype).tolerance);
      if (!(row.error <= most)) {
        fail_check(
            "{} block, {}: PyTorch's result has a relative difference of {:.2g}, expected at most "
            "{:.2g}",
            eval::name_of(row.kind), history, row.error, most);
      }
    }
  }
  return rows;
}

}  // namespace loci::app
