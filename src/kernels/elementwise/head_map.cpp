// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/head_map.h"

#include <map>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "loci/base/error.h"
#include "loci/kernels/elementwise/head_map_input.h"
#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

namespace {

// [N, …] or [B, N, …] → [B or 1, N, 1, …], to broadcast over heads. A table with one row per head,
// [N, H, …] or [B, N, H, …], becomes [B or 1, N, H, …].
at::Tensor over_heads(const at::Tensor& table, int64_t shared_dims, bool per_head,
                      at::ScalarType dtype) {
  const at::Tensor batched = table.dim() == shared_dims ? table.unsqueeze(0) : table;
  return (per_head ? batched : batched.unsqueeze(2)).to(dtype);
}

constexpr double kUnitEps = 1e-6;

// x [B, N, H, D] is FP32 with contiguous channels.
struct MapInput {
  at::Tensor x;
  at::Tensor units, inverse_lengths;  // for the gradient of a unit map
  at::Tensor addend, gate;            // for a gated map; contiguous
  at::Tensor mapped;                  // for the gradient of a gated map; contiguous
};

struct MapOutput {
  at::Tensor y, inverse_lengths, gate_gradient;
};

MapOutput run_map(const MapInput& input, const HeadMap& map, bool transposed, bool unit) {
  const at::Tensor& x = input.x;
  MapOutput output{at::empty(x.sizes(), x.options()), {}};
  head_map_kernels::Work work{};
  work.map = token_map(map, x.size(0), x.size(1), x.size(2), x.size(3), transposed);
  work.x = x.const_data_ptr<float>();
  work.sample_tokens = x.size(1);
  work.sample_step = x.stride(0);
  work.token_step = x.stride(1);
  work.head_step = x.stride(2);
  work.y = output.y.mutable_data_ptr<float>();
  work.eps = static_cast<float>(kUnitEps);
  if (unit) {
    output.inverse_lengths = at::empty({x.size(0), x.size(1), x.size(2)}, x.options());
    work.inverse_lengths = output.inverse_lengths.mutable_data_ptr<float>();
  }
  if (input.units.defined()) {
    work.units = input.units.const_data_ptr<float>();
    work.unit_inverse_lengths = input.inverse_lengths.const_data_ptr<float>();
  }
  if (input.gate.defined()) work.gate = input.gate.const_data_ptr<float>();
  if (input.addend.defined()) work.addend = input.addend.const_data_ptr<float>();
  if (input.mapped.defined()) {
    output.gate_gradient = at::empty(input.gate.sizes(), input.gate.options());
    work.mapped = input.mapped.const_data_ptr<float>();
    work.gate_gradient = output.gate_gradient.mutable_data_ptr<float>();
  }
  const auto run = kernel_table().head_map.run;
  constexpr int64_t kTokens = 64;  // per task
  at::parallel_for(0, x.size(0) * x.size(1), kTokens, [&](int64_t begin, int64_t end) {
    head_map_kernels::Work part = work;
    part.begin = begin;
    part.end = end;
    std::vector<float> scratch(static_cast<size_t>(4 * work.map.pairs + work.map.channels));
    part.scratch = scratch.data();
    run(part);
  });
  return output;
}

at::Tensor channels_together(const at::Tensor& x) {
  return x.stride(3) == 1 || x.size(3) == 1 ? x : x.contiguous();
}

// The gradient of a linear map is its transpose.
class MapHeads : public torch::autograd::Function<MapHeads> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const HeadMap& map, bool unit) {
    hold_map(*context, map);
    const MapOutput output = run_map({.x = x}, map, false, unit);
    if (unit) context->save_for_backward({output.y, output.inverse_lengths});
    return output.y;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    MapInput input{.x = channels_together(gradients[0])};
    const auto saved = context->get_saved_variables();
    if (!saved.empty()) {
      input.units = saved[0];
      input.inverse_lengths = saved[1];
    }
    return {run_map(input, held_map(*context), true, false).y, at::Tensor(), at::Tensor()};
  }
};

// dL/dx = gate * Mᵀ dL/dy, dL/dgate = (Mᵀ dL/dy)·x.
class AddGatedMap : public torch::autograd::Function<AddGatedMap> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& addend,
                            const at::Tensor& gate, const at::Tensor& x, const HeadMap& map) {
    hold_map(*context, map);
    context->save_for_backward({gate, x});
    return run_map({.x = x, .addend = addend, .gate = gate}, map, false, false).y;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const MapOutput output =
        run_map({.x = channels_together(gradients[0]), .gate = saved[0], .mapped = saved[1]},
                held_map(*context), true, false);
    return {gradients[0], output.gate_gradient, output.y, at::Tensor()};
  }
};

at::Tensor map_heads(const at::Tensor& x, const HeadMap& map, bool unit) {
  LOCI_CHECK(x.dim() == 4, "x has {} dimensions, expected [B, N, H, D]", x.dim());
  if (!x.is_cpu() || x.scalar_type() == at::kDouble) {
    const at::Tensor y = head_map_by_libtorch(x, map);
    return unit ? unit_by_libtorch(y) : y;
  }
  check_map(map, x.size(3));
  const at::Tensor wide = channels_together(x.to(at::kFloat));
  const bool differentiate = at::GradMode::is_enabled() && wide.requires_grad();
  const at::Tensor y = differentiate ? MapHeads::apply(wide, prepared_map(map), unit)
                                     : run_map({.x = wide}, prepared_map(map), false, unit).y;
  return y.to(x.scalar_type());
}

}  // namespace

HeadMap HeadMap::transposed() const {
  HeadMap map = *this;
  if (tiles > 0) {
    map.matrices = matrices.unflatten(-2, {tile_matrices, 4}).transpose(-1, -2).flatten(-3, -2);
  }
  if (!rotations.empty()) map.sine = -sine;
  if (order != MapOrder::kDisjoint) {
    map.order = order == MapOrder::kTilesFirst ? MapOrder::kRotationsFirst : MapOrder::kTilesFirst;
  }
  return map;
}

HeadMap HeadMap::slice(int64_t begin, int64_t end) const {
  HeadMap map = *this;
  if (tiles > 0) map.matrices = matrices.slice(-3, begin, end);
  if (!rotations.empty()) {
    const int64_t tokens = per_head ? -3 : -2;
    map.cosine = cosine.slice(tokens, begin, end);
    map.sine = sine.slice(tokens, begin, end);
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
  check_map(map, x.size(-1));
  if (map.order != MapOrder::kDisjoint) {
    HeadMap tiles = map, rotations = map;
    tiles.order = rotations.order = MapOrder::kDisjoint;
    tiles.rotations.clear();
    rotations.tiles = 0;
    const bool rotate = map.order == MapOrder::kRotationsFirst;
    return head_map_by_libtorch(head_map_by_libtorch(x, rotate ? rotations : tiles),
                                rotate ? tiles : rotations);
  }
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor input = x.to(wide);

  // The parts of the head in channel order; concatenated, they are the result.
  std::map<int64_t, at::Tensor> pieces;
  if (map.tiles > 0) {
    const at::Tensor matrices = over_heads(map.matrices, 3, false, wide);  // [B, N, 1, M*4, 4]
    const at::Tensor part = input.narrow(-1, map.tiles_begin, 4 * map.tiles);
    if (map.tile_stride * map.tile_matrices == 1) {
      const at::Tensor tiles = part.unflatten(-1, {map.tiles, 4});
      pieces[map.tiles_begin] = at::matmul(tiles, matrices.transpose(-1, -2)).flatten(-2);
    } else {
      // [B, N, H, turns, M, 4, stride]
      const at::Tensor tiles = part.unflatten(-1, {-1, map.tile_matrices, 4, map.tile_stride});
      const at::Tensor each = matrices.unflatten(-2, {map.tile_matrices, 4}).unsqueeze(3);
      pieces[map.tiles_begin] = at::matmul(each, tiles).flatten(-4);
    }
  }
  int64_t column = 0;
  for (const HeadMap::Rotation& rotation : map.rotations) {
    const auto columns = [&](const at::Tensor& table) {
      return over_heads(table.narrow(-1, column, rotation.pairs), map.per_head ? 3 : 2,
                        map.per_head, wide);
    };
    const at::Tensor c = columns(map.cosine), s = columns(map.sine);
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

at::Tensor unit_by_libtorch(const at::Tensor& x) {
  return x * at::rsqrt(x.square().sum(-1, /*keepdim=*/true) + kUnitEps);
}

at::Tensor head_map(const at::Tensor& x, const HeadMap& map) { return map_heads(x, map, false); }

at::Tensor unit_head_map(const at::Tensor& x, const HeadMap& map) {
  return map_heads(x, map, true);
}

at::Tensor add_gated_head_map_by_libtorch(const at::Tensor& addend, const at::Tensor& gate,
                                          const at::Tensor& x, const HeadMap& map) {
  return (addend + gate.unsqueeze(-1) * head_map_by_libtorch(x, map)).to(addend.scalar_type());
}

at::Tensor add_gated_head_map(const at::Tensor& addend, const at::Tensor& gate, const at::Tensor& x,
                              const HeadMap& map) {
  LOCI_CHECK(x.dim() == 4 && addend.sizes() == x.sizes() && gate.sizes() == x.sizes().slice(0, 3),
             "expected x [B, N, H, D], an addend of the same shape and a gate [B, N, H]");
  if (!x.is_cpu() || x.scalar_type() == at::kDouble) {
    return add_gated_head_map_by_libtorch(addend, gate, x, map);
  }
  check_map(map, x.size(3));
  const auto ready = [](const at::Tensor& t) { return t.to(at::kFloat).contiguous(); };
  const at::Tensor a = ready(addend), g = ready(gate), values = ready(x);
  const bool differentiate = at::GradMode::is_enabled() &&
                             (a.requires_grad() || g.requires_grad() || values.requires_grad());
  const at::Tensor y =
      differentiate
          ? AddGatedMap::apply(a, g, values, prepared_map(map))
          : run_map({.x = values, .addend = a, .gate = g}, prepared_map(map), false, false).y;
  return y.to(addend.scalar_type());
}

}  // namespace loci::kernels
