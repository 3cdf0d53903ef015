// SPDX-License-Identifier: Apache-2.0
// Base of suites whose groups are models and whose variants are arms.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loci/eval/suites/eval_models.h"
#include "loci/eval/suites/suite.h"

namespace loci::eval {

class ModelSuite : public Suite {
 public:
  std::vector<VariantGroup> groups() const override { return model_groups(models_, arms_); }
  // Only one model is in memory at a time. Its parts are loaded on first use.
  void open(size_t group) override {
    folder_.reset();
    open_ = group;
    folder_ = std::make_unique<sample::ModelFolder>(models_.at(group).path, dtype_);
  }

 protected:
  ModelSuite(std::vector<ModelChoice> models, std::vector<Arm> arms, at::ScalarType dtype)
      : models_(std::move(models)), arms_(std::move(arms)), dtype_(dtype) {}

  // Properties of the open model.
  size_t opened() const { return open_; }
  const sample::ModelFolder& folder() const { return *folder_; }
  std::string variant(const Arm& arm) const { return variant_name(models_.at(open_), arm, arms_); }

 private:
  std::vector<ModelChoice> models_;
  std::vector<Arm> arms_;
  at::ScalarType dtype_;
  size_t open_ = 0;
  std::unique_ptr<sample::ModelFolder> folder_;
};

}  // namespace loci::eval
