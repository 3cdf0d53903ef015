// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/memory/history/retrieval_history.h"

namespace loci::memory {

namespace {

class ContentHistory : public RetrievalHistory {
 public:
  using RetrievalHistory::RetrievalHistory;

  std::string_view name() const override { return "content"; }
  bool wants_content() const override { return true; }
  void commit(const HistoryFrame& frame) override {
    LOCI_CHECK(frame.key.defined() && frame.query.defined(),
               "frame {} is committed without its key and query", frame.index);
    RetrievalHistory::commit(frame);
  }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<ContentHistory>(*this);
  }

 protected:
  // The upcoming chunk has no queries yet, so the queries of the recent frames are used.
  std::vector<std::vector<double>> scores(std::span<const HistoryFrame>) const override {
    std::vector<std::vector<double>> scores;
    if (archive().empty()) return scores;
    std::vector<at::Tensor> keys;
    for (const HistoryFrame& frame : archive()) keys.push_back(frame.key.flatten());
    const at::Tensor stacked = at::stack(keys);  // [frames, heads * channels]
    for (const HistoryFrame& frame : recent()) {
      const at::Tensor row = at::mv(stacked, frame.query.flatten()).to(at::kDouble).contiguous();
      scores.emplace_back(row.const_data_ptr<double>(), row.const_data_ptr<double>() + row.numel());
    }
    return scores;
  }
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_content_history(const RetrievalOptions& options) {
  return std::make_unique<ContentHistory>(options);
}

}  // namespace loci::memory
