// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/kv/kv_slots.h"

#include <ATen/ATen.h>

#include "loci/base/choice.h"
#include "loci/base/error.h"

namespace loci::memory {

namespace {

at::ScalarType stored_type(at::ScalarType dtype, KvFormat format) {
  switch (format) {
    case KvFormat::kPlain:
      return dtype;
    case KvFormat::kBf16:
      return at::kBFloat16;
    case KvFormat::kInt8:
      return at::kChar;
  }
  return dtype;
}

std::vector<int64_t> with_slots(int64_t slots, std::vector<int64_t> frame) {
  frame.insert(frame.begin(), slots);
  return frame;
}

// A copy of the tensor with more rows.
at::Tensor extended(const at::Tensor& rows, int64_t added) {
  std::vector<int64_t> shape = rows.sizes().vec();
  const int64_t before = shape[0];
  shape[0] += added;
  at::Tensor larger = at::empty(shape, rows.options());
  larger.narrow(0, 0, before).copy_(rows);
  return larger;
}

}  // namespace

const std::vector<std::string>& kv_format_names() {
  static const std::vector<std::string> names = {"plain", "bf16", "int8"};
  return names;
}

KvFormat parse_kv_format(const std::string& name) {
  return static_cast<KvFormat>(choice_index("key-value format", name, kv_format_names()));
}

KvSlots::KvSlots(std::vector<int64_t> frame, at::ScalarType dtype, KvFormat format,
                 at::Device device)
    : frame_(std::move(frame)), dtype_(dtype), format_(format) {
  const auto options = at::TensorOptions(device);
  data_ = at::empty(with_slots(0, frame_), options.dtype(stored_type(dtype, format)));
  if (format_ == KvFormat::kInt8) {
    std::vector<int64_t> shape = with_slots(0, frame_);
    shape.back() = 1;
    scale_ = at::empty(shape, options.dtype(at::kFloat));
  }
}

KvSlots KvSlots::clone() const {
  KvSlots copy = *this;
  if (data_.defined()) copy.data_ = data_.clone();
  if (scale_.defined()) copy.scale_ = scale_.clone();
  return copy;
}

int64_t KvSlots::slot_bytes(const std::vector<int64_t>& frame, at::ScalarType dtype,
                            KvFormat format) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < frame.size(); ++i) rows *= frame[i];
  const auto size = static_cast<int64_t>(c10::elementSize(stored_type(dtype, format)));
  const int64_t scales = format == KvFormat::kInt8 ? static_cast<int64_t>(sizeof(float)) : 0;
  return rows * (frame.back() * size + scales);
}

void KvSlots::grow(int64_t slots) {
  data_ = extended(data_, slots);
  if (scale_.defined()) scale_ = extended(scale_, slots);
}

void KvSlots::put(int64_t slot, const at::Tensor& frame) {
  if (format_ != KvFormat::kInt8) {
    data_.select(0, slot).copy_(frame);
    return;
  }
  const at::Tensor wide = frame.to(at::kFloat);
  // The minimum avoids a scale of zero for a row of zeros.
  const at::Tensor scale = wide.abs().amax(-1, /*keepdim=*/true).clamp_min(1e-30) / 127;
  scale_.select(0, slot).copy_(scale);
  data_.select(0, slot).copy_((wide / scale).round());
}

KvSlots::Raw KvSlots::save(const at::Tensor& index) const {
  return {data_.index_select(0, index),
          scale_.defined() ? scale_.index_select(0, index) : at::Tensor()};
}

void KvSlots::restore(const Raw& raw) {
  const auto fits = [](const at::Tensor& saved, const at::Tensor& mine) {
    return saved.defined() == mine.defined() &&
           (!mine.defined() ||
            (saved.scalar_type() == mine.scalar_type() && saved.dim() == mine.dim() &&
             saved.size(0) <= mine.size(0) && saved.sizes().slice(1) == mine.sizes().slice(1)));
  };
  if (!fits(raw.data, data_) || !fits(raw.scale, scale_) ||
      (raw.scale.defined() && raw.scale.size(0) != raw.data.size(0))) {
    fail("the shape or type of saved keys or values does not match this model");
  }
  const int64_t count = raw.data.size(0);
  data_.narrow(0, 0, count).copy_(raw.data);
  if (scale_.defined()) scale_.narrow(0, 0, count).copy_(raw.scale);
}

}  // namespace loci::memory
