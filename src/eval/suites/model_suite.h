// SPDX-License-Identifier: Apache-2.0
// Base of suites whose groups are models, with arms as variants, and folders of videos that other
// programs made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loci/eval/suites/eval_models.h"
#include "loci/eval/suites/suite.h"

namespace loci::eval {

class ModelSuite : public Suite {
 public:
  std::vector<VariantGroup> groups() const override {
    std::vector<VariantGroup> groups = model_groups(models_, arms_);
    for (const ModelChoice& videos : predictions_) groups.push_back({videos.name, {videos.name}});
    return groups;
  }
  // Only one model is in memory at a time. Its parts are loaded on first use.
  void open(size_t group) override {
    folder_.reset();
    open_ = group;
    if (prediction() == nullptr) {
      folder_ = std::make_unique<sample::ModelFolder>(models_.at(group).path, dtype_);
    }
  }

 protected:
  ModelSuite(std::vector<ModelChoice> models, std::vector<Arm> arms, at::ScalarType dtype,
             std::vector<ModelChoice> predictions = {})
      : models_(std::move(models)),
        predictions_(std::move(predictions)),
        arms_(std::move(arms)),
        dtype_(dtype) {}

  // Properties of the open group. A folder of videos has no model.
  size_t opened() const { return open_; }
  const ModelChoice* prediction() const {
    return open_ < models_.size() ? nullptr : &predictions_.at(open_ - models_.size());
  }
  const sample::ModelFolder& folder() const { return *folder_; }
  std::string variant(const Arm& arm) const { return variant_name(models_.at(open_), arm, arms_); }

 private:
  std::vector<ModelChoice> models_, predictions_;
  std::vector<Arm> arms_;
  at::ScalarType dtype_;
  size_t open_ = 0;
  std::unique_ptr<sample::ModelFolder> folder_;
};

}  // namespace loci::eval
