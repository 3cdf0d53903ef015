// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/head_map.h"

#include <map>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include "loci/base/error.h"
#include "loci/kernels/cpu_features.h"
#include "loci/kernels/head_map_kernel.h"

namespace loci::kernels {

namespace {

// [N, …] or [B, N, …] → [B or 1, N, 1, …]: one value for all heads.
at::Tensor over_heads(const at::Tensor& table, int64_t shared_dims, at::ScalarType dtype) {
  const at::Tensor batched = table.dim() == shared_dims ? table.unsqueeze(0) : table;
  return batched.unsqueeze(2).to(dtype);
}

// Parts in order of their channels must neither overlap nor reach beyond the head.
void check_channels(const HeadMap& map, int64_t channels) {
  std::map<int64_t, int64_t> parts;  // begin, size
  if (map.tiles > 0) parts[map.tiles_begin] = 4 * map.tiles;
  for (const HeadMap::Rotation& rotation : map.rotations) {
    LOCI_CHECK(parts.emplace(rotation.begin, 2 * rotation.pairs).second,
               "parts of the map overlap at channel {}", rotation.begin);
  }
  int64_t free = 0;
  for (const auto& [begin, size] : parts) {
    LOCI_CHECK(begin >= free, "parts of the map overlap at channel {}", begin);
    free = begin + size;
  }
  LOCI_CHECK(free <= channels, "the map reaches channel {} of {}", free, channels);
}

// The map with tables as the loops want them: FP32, contiguous.
HeadMap prepared(HeadMap map) {
  if (map.tiles > 0) map.matrices = map.matrices.to(at::kFloat).contiguous();
  if (!map.rotations.empty()) {
    map.cosine = map.cosine.to(at::kFloat).contiguous();
    map.sine = map.sine.to(at::kFloat).contiguous();
  }
  return map;
}

// x contiguous FP32, the map prepared.
at::Tensor run(const at::Tensor& x, const HeadMap& map, bool transposed) {
  at::Tensor y = at::empty_like(x);
  const int64_t tokens = x.size(0) * x.size(1);
  head_map_kernels::Work work{};
  work.x = x.const_data_ptr<float>();
  work.y = y.mutable_data_ptr<float>();
  work.heads = x.size(2);
  work.channels = x.size(3);
  work.tiles_begin = map.tiles_begin;
  work.tiles = map.tiles;
  work.rotations = map.rotations.data();
  work.rotation_count = std::ssize(map.rotations);
  work.transposed = transposed;
  work.period = tokens;
  if (map.tiles > 0) {
    work.matrices = map.matrices.const_data_ptr<float>();
    work.period = map.matrices.numel() / 16;
  }
  if (!map.rotations.empty()) {
    work.cosine = map.cosine.const_data_ptr<float>();
    work.sine = map.sine.const_data_ptr<float>();
    work.pairs = map.cosine.size(-1);
    int64_t pairs = 0;
    for (const HeadMap::Rotation& rotation : map.rotations) pairs += rotation.pairs;
    LOCI_CHECK(pairs > 0 && pairs == work.pairs && map.sine.sizes() == map.cosine.sizes(),
               "tables of {} columns for {} pairs, or a sine of another shape than the cosine",
               work.pairs, pairs);
    const int64_t rows = map.cosine.numel() / work.pairs;
    LOCI_CHECK(map.tiles == 0 || rows == work.period, "{} rotations for {} matrices", rows,
               work.period);
    work.period = rows;
  }
  LOCI_CHECK(work.period == x.size(1) || work.period == tokens, "a map of {} tokens for {}",
             work.period, x.size(1));
  constexpr int64_t kTokens = 64;  // a task
  at::parallel_for(0, tokens, kTokens, [&](int64_t begin, int64_t end) {
    head_map_kernels::Work part = work;
    part.begin = begin;
    part.end = end;
    std::vector<float> scratch(static_cast<size_t>(4 * work.pairs));
    part.scratch = scratch.data();
#if defined(__x86_64__)
    if (isa_level() >= IsaLevel::kAvx2) return head_map_kernels::avx2(part);
#endif
    head_map_kernels::plain(part);
  });
  return y;
}

// The gradient of a linear map is its transpose.
class MapHeads : public torch::autograd::Function<MapHeads> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const HeadMap& map) {
    auto held = c10::make_intrusive<Held>();
    held->map = map;
    context->saved_data["map"] = c10::IValue::make_capsule(held);
    return run(x, map, false);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto held = context->saved_data["map"].toCapsule();
    const HeadMap& map = static_cast<const Held&>(*held).map;
    return {run(gradients[0].contiguous(), map, true), at::Tensor()};
  }

 private:
  struct Held : torch::CustomClassHolder {
    HeadMap map;
  };
};

}  // namespace

HeadMap HeadMap::transposed() const {
  HeadMap map = *this;
  if (tiles > 0) map.matrices = matrices.transpose(-1, -2);
  if (!rotations.empty()) map.sine = -sine;
  return map;
}

HeadMap HeadMap::slice(int64_t begin, int64_t end) const {
  HeadMap map = *this;
  if (tiles > 0) map.matrices = matrices.slice(-3, begin, end);
  if (!rotations.empty()) {
    map.cosine = cosine.slice(-2, begin, end);
    map.sine = sine.slice(-2, begin, end);
  }
  return map;
}

HeadMap HeadMap::to(at::Device device) const {
  HeadMap map = *this;
  if (tiles > 0) map.matrices = matrices.to(device);
  if (!rotations.empty()) {
    map.cosine = cosine.to(device);
    map.sine = sine.to(device);
  }
  return map;
}

at::Tensor head_map_by_libtorch(const at::Tensor& x, const HeadMap& map) {
  check_channels(map, x.size(-1));
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor input = x.to(wide);

  // Pieces of the head in channel order, so that one concatenation makes the result.
  std::map<int64_t, at::Tensor> pieces;
  if (map.tiles > 0) {
    const at::Tensor matrices = over_heads(map.matrices, 3, wide);  // [B, N, 1, 4, 4]
    const int64_t size = 4 * map.tiles;
    const at::Tensor tiles = input.narrow(-1, map.tiles_begin, size).unflatten(-1, {map.tiles, 4});
    pieces[map.tiles_begin] = at::matmul(tiles, matrices.transpose(-1, -2)).flatten(-2);
  }
  int64_t column = 0;
  for (const HeadMap::Rotation& rotation : map.rotations) {
    const at::Tensor c = over_heads(map.cosine.narrow(-1, column, rotation.pairs), 2, wide);
    const at::Tensor s = over_heads(map.sine.narrow(-1, column, rotation.pairs), 2, wide);
    column += rotation.pairs;
    const at::Tensor part = input.narrow(-1, rotation.begin, 2 * rotation.pairs);
    if (rotation.adjacent) {
      const at::Tensor pairs = part.unflatten(-1, {rotation.pairs, 2});
      const at::Tensor a = pairs.select(-1, 0);
      const at::Tensor b = pairs.select(-1, 1);
      pieces[rotation.begin] = at::stack({a * c - b * s, a * s + b * c}, -1).flatten(-2);
    } else {
      const at::Tensor a = part.narrow(-1, 0, rotation.pairs);
      const at::Tensor b = part.narrow(-1, rotation.pairs, rotation.pairs);
      pieces[rotation.begin] = at::cat({a * c - b * s, a * s + b * c}, -1);
    }
  }

  std::vector<at::Tensor> whole;
  int64_t at_channel = 0;
  for (const auto& [begin, piece] : pieces) {
    if (begin > at_channel) whole.push_back(input.narrow(-1, at_channel, begin - at_channel));
    whole.push_back(piece);
    at_channel = begin + piece.size(-1);
  }
  if (at_channel < x.size(-1)) {
    whole.push_back(input.narrow(-1, at_channel, x.size(-1) - at_channel));
  }
  return at::cat(whole, -1).to(x.scalar_type());
}

at::Tensor head_map(const at::Tensor& x, const HeadMap& map) {
  LOCI_CHECK(x.dim() == 4, "x has {} dimensions, expected [B, N, H, D]", x.dim());
  if (!x.is_cpu() || x.scalar_type() == at::kDouble) return head_map_by_libtorch(x, map);
  check_channels(map, x.size(3));
  const at::Tensor wide = x.to(at::kFloat).contiguous();
  const bool differentiate = at::GradMode::is_enabled() && wide.requires_grad();
  const at::Tensor y =
      differentiate ? MapHeads::apply(wide, prepared(map)) : run(wide, prepared(map), false);
  return y.to(x.scalar_type());
}

}  // namespace loci::kernels
