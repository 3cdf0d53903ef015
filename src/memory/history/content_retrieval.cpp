// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/memory/history/retrieval_history.h"

namespace loci::memory {

namespace {

class ContentRetrieval : public RetrievalHistory {
 public:
  using RetrievalHistory::RetrievalHistory;

  std::string_view name() const override { return "content_retrieval"; }
  bool wants_content() const override { return true; }
  void commit(const FrameView& view) override {
    LOCI_CHECK(view.key.defined() && view.query.defined(), "frame {} comes without its content",
               view.frame);
    RetrievalHistory::commit(view);
  }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<ContentRetrieval>(*this);
  }

 protected:
  // The upcoming chunk has no queries yet: those of the recent frames stand for them.
  std::vector<std::vector<double>> rank(std::span<const FrameView>) const override {
    std::vector<std::vector<double>> scores;
    if (archive().empty()) return scores;
    std::vector<at::Tensor> keys;
    for (const FrameView& view : archive()) keys.push_back(view.key.flatten());
    const at::Tensor stacked = at::stack(keys);  // [frames, heads * channels]
    for (const FrameView& view : recent()) {
      const at::Tensor row = at::mv(stacked, view.query.flatten()).to(at::kDouble).contiguous();
      scores.emplace_back(row.const_data_ptr<double>(), row.const_data_ptr<double>() + row.numel());
    }
    return scores;
  }
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_content_retrieval(const RetrievalOptions& options) {
  return std::make_unique<ContentRetrieval>(options);
}

}  // namespace loci::memory
