// SPDX-License-Identifier: Apache-2.0
// Registers the kernels with PyTorch's dispatcher. After torch.ops.load_library("libloci_ops.so")
// they are available as torch.ops.loci.attention etc. All are differentiable and fall back on ATen
// for devices and types without a kernel.
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include "loci/base/choice.h"
#include "loci/kernels/attention/attention.h"
#include "loci/kernels/attention/attention_spans.h"
#include "loci/kernels/delta_rule/delta_rule.h"
#include "loci/kernels/elementwise/gelu.h"
#include "loci/kernels/elementwise/head_map.h"
#include "loci/kernels/elementwise/residual_norm.h"
#include "loci/kernels/elementwise/rms_norm.h"
#include "loci/kernels/linear/packed_linear.h"
#include "loci/kernels/linear/wide_linear.h"
#include "loci/kernels/machine/cpu_features.h"

namespace loci::kernels {

namespace {

// past_key and past_value [F, B, T, H, D] are slots; the queries attend to the slots in `index`.
at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const std::optional<at::Tensor>& past_key,
                  const std::optional<at::Tensor>& past_value, at::IntArrayRef index) {
  TORCH_CHECK(past_key.has_value() == past_value.has_value(),
              "loci::attention: past_key and past_value must be given together");
  if (!past_key) return attention(query, key, value);
  const AttentionPast past({past_key->contiguous(), {}}, {past_value->contiguous(), {}},
                           index.vec(), query.scalar_type(), query.device(), std::nullopt);
  return attention(query, key, value, &past);
}

// Span i contains the queries up to ends[i], which attend to the tokens keys[i].
at::Tensor attend_over_spans(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, at::IntArrayRef ends, at::TensorList keys) {
  TORCH_CHECK(ends.size() == keys.size(), "loci::attention_over_spans: ", ends.size(),
              " ends, but keys for ", keys.size(), " spans");
  std::vector<AttentionSpan> spans;
  for (size_t i = 0; i < ends.size(); ++i) {
    const at::Tensor index = keys[i].to(at::kCPU, at::kLong).contiguous();
    const int64_t* first = index.const_data_ptr<int64_t>();
    spans.push_back({.begin = i == 0 ? 0 : ends[i - 1],
                     .end = ends[i],
                     .keys = {first, first + index.numel()},
                     .rotation = std::nullopt});
  }
  return attention_over_spans(query, key, value,
                              std::make_shared<const std::vector<AttentionSpan>>(std::move(spans)));
}

// `rotations` holds three numbers per rotation: first channel, number of pairs, 1 for adjacent
// pairs.
HeadMap make_map(int64_t tiles_begin, int64_t tiles, const std::optional<at::Tensor>& matrices,
                 at::IntArrayRef rotations, const std::optional<at::Tensor>& cosine,
                 const std::optional<at::Tensor>& sine) {
  TORCH_CHECK(rotations.size() % 3 == 0,
              "loci: rotations must have three numbers each: first channel, number of pairs, "
              "adjacent (0 or 1)");
  HeadMap map;
  map.tiles_begin = tiles_begin;
  map.tiles = tiles;
  TORCH_CHECK(tiles == 0 || matrices, "loci: tiles > 0 needs matrices [N, 4, 4]");
  if (matrices) map.matrices = *matrices;
  for (size_t i = 0; i < rotations.size(); i += 3) {
    map.rotations.push_back(
        {.begin = rotations[i], .pairs = rotations[i + 1], .adjacent = rotations[i + 2] != 0});
  }
  TORCH_CHECK(rotations.empty() || (cosine && sine),
              "loci: rotations need cosine and sine [N, pairs]");
  if (cosine) map.cosine = *cosine;
  if (sine) map.sine = *sine;
  return map;
}

at::Tensor map_heads(const at::Tensor& x, int64_t tiles_begin, int64_t tiles,
                     const std::optional<at::Tensor>& matrices, at::IntArrayRef rotations,
                     const std::optional<at::Tensor>& cosine,
                     const std::optional<at::Tensor>& sine) {
  return head_map(x, make_map(tiles_begin, tiles, matrices, rotations, cosine, sine));
}

at::Tensor map_heads_to_unit(const at::Tensor& x, int64_t tiles_begin, int64_t tiles,
                             const std::optional<at::Tensor>& matrices, at::IntArrayRef rotations,
                             const std::optional<at::Tensor>& cosine,
                             const std::optional<at::Tensor>& sine) {
  return unit_head_map(x, make_map(tiles_begin, tiles, matrices, rotations, cosine, sine));
}

at::Tensor add_gated_map(const at::Tensor& addend, const at::Tensor& gate, const at::Tensor& x,
                         int64_t tiles_begin, int64_t tiles,
                         const std::optional<at::Tensor>& matrices, at::IntArrayRef rotations,
                         const std::optional<at::Tensor>& cosine,
                         const std::optional<at::Tensor>& sine) {
  return add_gated_head_map(addend, gate, x,
                            make_map(tiles_begin, tiles, matrices, rotations, cosine, sine));
}

std::tuple<at::Tensor, at::Tensor> norm_heads(
    const at::Tensor& x, const at::Tensor& weight, double eps, int64_t heads, int64_t tiles_begin,
    int64_t tiles, const std::optional<at::Tensor>& matrices, at::IntArrayRef rotations,
    const std::optional<at::Tensor>& cosine, const std::optional<at::Tensor>& sine) {
  const NormedHeads normed = rms_norm_heads(
      x, weight, eps, heads, make_map(tiles_begin, tiles, matrices, rotations, cosine, sine),
      /*want_norm=*/true);
  return {normed.norm, normed.mapped};
}

NormAffine make_affine(const at::Tensor& scale, const at::Tensor& shift, double base, double eps,
                       std::optional<at::ScalarType> dtype, const at::Tensor& x) {
  return {.scale = scale,
          .shift = shift,
          .base = base,
          .eps = eps,
          .dtype = dtype.value_or(x.scalar_type())};
}

at::Tensor norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift, double base,
                double eps, std::optional<at::ScalarType> dtype) {
  return affine_norm(x, make_affine(scale, shift, base, eps, dtype, x));
}

at::Tensor add_gated(const at::Tensor& x, const std::optional<at::Tensor>& gate,
                     const at::Tensor& y) {
  return gated_add(x, gate.value_or(at::Tensor()), y);
}

std::tuple<at::Tensor, at::Tensor> add_gated_and_norm(const at::Tensor& x,
                                                      const std::optional<at::Tensor>& gate,
                                                      const at::Tensor& y, const at::Tensor& scale,
                                                      const at::Tensor& shift, double base,
                                                      double eps,
                                                      std::optional<at::ScalarType> dtype) {
  return gated_add_norm(x, gate.value_or(at::Tensor()), y,
                        make_affine(scale, shift, base, eps, dtype, x));
}

// The caller holds x, so the kernel never overwrites it.
at::Tensor gelu_of(const at::Tensor& x) { return kernels::gelu(x); }

std::tuple<at::Tensor, at::Tensor> write_chunks(
    const at::Tensor& state, const std::optional<at::Tensor>& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& beta, const std::optional<at::Tensor>& retention,
    at::IntArrayRef ends, bool write_last, double read_scale) {
  const DeltaPass pass =
      delta_chunks(state, query.value_or(at::Tensor()), key, value, beta,
                   retention.value_or(at::Tensor()), {ends.vec(), write_last}, read_scale);
  return {pass.read, pass.state};
}

at::Tensor multiply(const at::Tensor& x, const at::Tensor& weight,
                    const std::optional<at::Tensor>& bias) {
  return linear(x, weight, bias.value_or(at::Tensor()));
}

// torch.classes.loci.PackedLinear: a packed weight [out, in] in BF16, INT8 or INT4.
struct PackedWeight : torch::CustomClassHolder {
  PackedWeight(const at::Tensor& weight, const std::optional<at::Tensor>& bias,
               const std::string& format)
      : linear(quantize_weight(weight, known(format)), bias.value_or(at::Tensor())) {}

  static WeightFormat known(const std::string& name) {
    const std::optional<WeightFormat> format = weight_format(name);
    TORCH_CHECK(format, "loci::PackedLinear: ",
                unknown_choice("weight format", name, {"bf16", "int8", "int4"}));
    return *format;
  }

  at::Tensor forward(const at::Tensor& x, bool gelu, const std::optional<at::Tensor>& addend,
                     const std::optional<at::Tensor>& residual,
                     const std::optional<at::Tensor>& gate) {
    return linear(x, {.gelu = gelu,
                      .addend = addend.value_or(at::Tensor()),
                      .residual = residual.value_or(at::Tensor()),
                      .gate = gate.value_or(at::Tensor())});
  }

  PackedLinear linear;
};

std::string level() { return std::string(name_of(isa_level())); }

}  // namespace

}  // namespace loci::kernels

#define LOCI_HEAD_MAP \
  "int tiles_begin, int tiles, Tensor? matrices, int[] rotations, Tensor? cosine, Tensor? sine"
#define LOCI_NORM "Tensor scale, Tensor shift, float base=1, float eps=1e-6, ScalarType? dtype=None"

TORCH_LIBRARY(loci, library) {
  using namespace loci::kernels;
  library.def(
      "attention(Tensor query, Tensor key, Tensor value, Tensor? past_key=None, Tensor? "
      "past_value=None, int[] index=[]) -> Tensor",
      &attend);
  library.def(
      "attention_over_spans(Tensor query, Tensor key, Tensor value, int[] ends, Tensor[] keys) -> "
      "Tensor",
      &attend_over_spans);
  library.def("head_map(Tensor x, " LOCI_HEAD_MAP ") -> Tensor", &map_heads);
  library.def("unit_head_map(Tensor x, " LOCI_HEAD_MAP ") -> Tensor", &map_heads_to_unit);
  library.def("add_gated_head_map(Tensor addend, Tensor gate, Tensor x, " LOCI_HEAD_MAP
              ") -> Tensor",
              &add_gated_map);
  library.def("rms_norm(Tensor x, Tensor weight, float eps=1e-6) -> Tensor", &rms_norm);
  library.def("rms_norm_heads(Tensor x, Tensor weight, float eps, int heads, " LOCI_HEAD_MAP
              ") -> (Tensor norm, Tensor mapped)",
              &norm_heads);
  library.def("affine_norm(Tensor x, " LOCI_NORM ") -> Tensor", &norm);
  library.def("gated_add(Tensor x, Tensor? gate, Tensor y) -> Tensor", &add_gated);
  library.def("gated_add_norm(Tensor x, Tensor? gate, Tensor y, " LOCI_NORM
              ") -> (Tensor sum, Tensor norm)",
              &add_gated_and_norm);
  library.def("gelu(Tensor x) -> Tensor", &gelu_of);
  library.def("delta_write(Tensor state, Tensor key, Tensor value, Tensor beta) -> Tensor",
              &delta_write);
  library.def(
      "delta_chunks(Tensor state, Tensor? query, Tensor key, Tensor value, Tensor beta, Tensor? "
      "retention, int[] ends, bool write_last=True, float read_scale=1) -> (Tensor read, Tensor "
      "state)",
      &write_chunks);
  library.def(
      "decayed_delta_write(Tensor state, Tensor key, Tensor value, Tensor beta, Tensor log_decay) "
      "-> Tensor",
      &decayed_delta_write);
  library.def("linear(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor", &multiply);
  library.class_<PackedWeight>("PackedLinear")
      .def(torch::init<at::Tensor, std::optional<at::Tensor>, std::string>(), "",
           {torch::arg("weight"), torch::arg("bias") = torch::arg::none(),
            torch::arg("format") = "int8"})
      .def("forward", &PackedWeight::forward, "",
           {torch::arg("x"), torch::arg("gelu") = false, torch::arg("addend") = torch::arg::none(),
            torch::arg("residual") = torch::arg::none(), torch::arg("gate") = torch::arg::none()});
  library.def("isa_level() -> str", &level);
}
