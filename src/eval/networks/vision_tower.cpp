// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/networks/vision_tower.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/eval/networks/vision_names.h"
#include "loci/io/tensors/checkpoint.h"

namespace loci::eval {

namespace {

constexpr int64_t kHeadSize = 64;  // the same in all published models
constexpr int64_t kDinoColumns = 37, kDinoRows = 21;

at::Tensor unit_length(const at::Tensor& x) {
  return x / x.square().sum(-1, /*keepdim=*/true).sqrt().clamp_min(1e-12);
}

// Frames resized to [T, 3, height, width] in [0, 1].
at::Tensor resized(const at::Tensor& frames, int64_t height, int64_t width) {
  if (frames.dim() != 4 || frames.size(3) != 3) {
    fail("frames have shape [{}]; expected [frames, height, width, 3]",
         fmt::join(frames.sizes(), ", "));
  }
  at::Tensor x = frames.to(at::kFloat).permute({0, 3, 1, 2}).contiguous();
  if (frames.scalar_type() == at::kByte) x = x / 255;
  return at::_upsample_bicubic2d_aa(x, {height, width}, /*align_corners=*/false).clamp(0, 1);
}

at::Tensor normalised(const at::Tensor& pixels, TowerKind kind) {
  const bool dino = kind == TowerKind::kDino;
  const at::Tensor mean = dino ? at::tensor({0.485f, 0.456f, 0.406f})
                               : at::tensor({0.48145466f, 0.4578275f, 0.40821073f});
  const at::Tensor deviation = dino ? at::tensor({0.229f, 0.224f, 0.225f})
                                    : at::tensor({0.26862954f, 0.26130258f, 0.27577711f});
  return (pixels - mean.view({1, 3, 1, 1})) / deviation.view({1, 3, 1, 1});
}

}  // namespace

VisionTower::VisionTower(TowerKind kind, const std::map<std::string, at::Tensor>& weights,
                         const std::string& source)
    : kind_(kind) {
  const std::map<std::string, at::Tensor> plain = plain_vision_names(weights);
  const auto take = [&](const std::string& name, at::IntArrayRef shape) {
    const auto found = plain.find(name);
    if (found == plain.end()) {
      fail("{}: the {} weight '{}' is missing", source,
           kind == TowerKind::kDino ? "DINOv2" : "CLIP", name);
    }
    if (!shape.empty() && found->second.sizes() != shape) {
      fail("{}: {} has shape [{}]; expected [{}]", source, name,
           fmt::join(found->second.sizes(), ", "), fmt::join(shape, ", "));
    }
    return found->second.to(at::kFloat).contiguous();
  };
  patch_weight_ = take("patch.weight", {});
  if (patch_weight_.dim() != 4 || patch_weight_.size(1) != 3 ||
      patch_weight_.size(2) != patch_weight_.size(3) || patch_weight_.size(0) % kHeadSize != 0) {
    fail("{}: patch.weight has shape [{}]; expected [heads * {}, 3, patch, patch]", source,
         fmt::join(patch_weight_.sizes(), ", "), kHeadSize);
  }
  const int64_t width = patch_weight_.size(0);
  if (plain.contains("patch.bias")) patch_bias_ = take("patch.bias", {width});
  class_token_ = take("class_token", {width});
  positions_ = take("positions", {});
  const auto side = std::llround(std::sqrt(static_cast<double>(positions_.size(0) - 1)));
  if (positions_.size(1) != width || side * side + 1 != positions_.size(0)) {
    fail("{}: positions have shape [{}]; expected [1 + a square number, {}]", source,
         fmt::join(positions_.sizes(), ", "), width);
  }
  if (plain.contains("registers")) registers_ = take("registers", {});
  const auto take_norm = [&](const std::string& name) {
    return Norm{take(name + ".weight", {width}), take(name + ".bias", {width})};
  };
  if (kind == TowerKind::kClip) before_ = take_norm("before");
  after_ = take_norm("after");
  for (int64_t n = 0; plain.contains(fmt::format("blocks.{}.norm1.weight", n)); ++n) {
    const std::string at = fmt::format("blocks.{}.", n);
    const auto linear = [&](const std::string& name, int64_t out, int64_t in) {
      return Linear{take(at + name + ".weight", {out, in}), take(at + name + ".bias", {out})};
    };
    const int64_t hidden = take(at + "fc1.bias", {}).numel();
    Block block{take_norm(at + "norm1"),
                take_norm(at + "norm2"),
                linear("qkv", 3 * width, width),
                linear("out", width, width),
                linear("fc1", hidden, width),
                linear("fc2", width, hidden),
                {},
                {}};
    if (plain.contains(at + "scale1")) {
      block.scale1 = take(at + "scale1", {width});
      block.scale2 = take(at + "scale2", {width});
    }
    blocks_.push_back(std::move(block));
  }
  if (blocks_.empty()) fail("{}: no transformer block found", source);
  if (kind == TowerKind::kClip) projection_ = take("projection", {});
}

VisionTower VisionTower::load(TowerKind kind, const std::filesystem::path& path) {
  const io::Checkpoint checkpoint = io::Checkpoint::open(path);
  std::map<std::string, at::Tensor> weights;
  for (const std::string& name : checkpoint.names()) weights[name] = checkpoint.tensor(name);
  return VisionTower(kind, weights, path.string());
}

at::Tensor VisionTower::norm(const at::Tensor& x, const Norm& norm) const {
  const double eps = kind_ == TowerKind::kDino ? 1e-6 : 1e-5;
  return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, eps);
}

at::Tensor VisionTower::run_block(const Block& block, const at::Tensor& x) const {
  const int64_t batch = x.size(0), count = x.size(1), width = x.size(2);
  const at::Tensor qkv = at::linear(norm(x, block.norm1), block.qkv.weight, block.qkv.bias)
                             .view({batch, count, 3, width / kHeadSize, kHeadSize})
                             .permute({2, 0, 3, 1, 4});
  at::Tensor read = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
                        .transpose(1, 2)
                        .reshape({batch, count, width});
  read = at::linear(read, block.out.weight, block.out.bias);
  if (block.scale1.defined()) read = read * block.scale1;
  const at::Tensor y = x + read;
  at::Tensor hidden = at::linear(norm(y, block.norm2), block.fc1.weight, block.fc1.bias);
  hidden = kind_ == TowerKind::kDino ? at::gelu(hidden) : hidden * at::sigmoid(1.702 * hidden);
  hidden = at::linear(hidden, block.fc2.weight, block.fc2.bias);
  if (block.scale2.defined()) hidden = hidden * block.scale2;
  return y + hidden;
}

at::Tensor VisionTower::positions(int64_t rows, int64_t columns) const {
  const auto side = std::llround(std::sqrt(static_cast<double>(positions_.size(0) - 1)));
  if (rows == side && columns == side) return positions_;
  const at::Tensor grid =
      positions_.narrow(0, 1, side * side).view({1, side, side, -1}).permute({0, 3, 1, 2});
  const auto back = [&](const at::Tensor& stretched) {
    return at::cat({positions_.narrow(0, 0, 1), stretched[0].permute({1, 2, 0}).flatten(0, 1)}, 0);
  };
  if (registers_.defined()) {
    return back(at::_upsample_bicubic2d_aa(grid.contiguous(), {rows, columns},
                                           /*align_corners=*/false));
  }
  // The original model without registers adds 0.1 patches to the scale.
  const auto scale = [&](int64_t size) {
    return (static_cast<double>(size) + 0.1) / static_cast<double>(side);
  };
  return back(at::upsample_bicubic2d(grid.contiguous(), {rows, columns},
                                     /*align_corners=*/false, scale(rows), scale(columns)));
}

at::Tensor VisionTower::tokens(const at::Tensor& pixels) const {
  const at::NoGradGuard no_grad;
  if (pixels.size(2) % patch() != 0 || pixels.size(3) % patch() != 0) {
    fail("pixels of {}x{} are not divisible by the patch size {}", pixels.size(3), pixels.size(2),
         patch());
  }
  const at::Tensor patches = at::conv2d(pixels, patch_weight_, patch_bias_, patch());
  const int64_t batch = pixels.size(0), width = class_token_.size(0);
  at::Tensor x = at::cat({class_token_.view({1, 1, width}).expand({batch, 1, width}),
                          patches.flatten(2).transpose(1, 2)},
                         1) +
                 positions(patches.size(2), patches.size(3));
  const int64_t extra = registers_.defined() ? registers_.size(0) : 0;
  if (extra > 0) {
    x = at::cat({x.narrow(1, 0, 1), registers_.unsqueeze(0).expand({batch, extra, width}),
                 x.narrow(1, 1, x.size(1) - 1)},
                1);
  }
  if (kind_ == TowerKind::kClip) x = norm(x, before_);
  for (const Block& block : blocks_) x = run_block(block, x);
  x = norm(x, after_);
  if (extra == 0) return x;
  return at::cat({x.narrow(1, 0, 1), x.narrow(1, 1 + extra, x.size(1) - 1 - extra)}, 1);
}

at::Tensor VisionTower::project(const at::Tensor& tokens) const {
  LOCI_CHECK(projection_.defined(), "only CLIP has a projection");
  return at::matmul(tokens.select(1, 0), projection_);
}

VisionTower::Features VisionTower::operator()(const at::Tensor& frames) const {
  if (kind_ == TowerKind::kClip) {
    const auto side =
        std::llround(std::sqrt(static_cast<double>(positions_.size(0) - 1))) * patch();
    return {unit_length(project(tokens(normalised(resized(frames, side, side), kind_)))), {}};
  }
  const at::Tensor all =
      tokens(normalised(resized(frames, kDinoRows * patch(), kDinoColumns * patch()), kind_));
  return {unit_length(all.select(1, 0)),
          unit_length(all.narrow(1, 1, all.size(1) - 1))
              .view({all.size(0), kDinoRows, kDinoColumns, all.size(2)})};
}

at::Tensor patch_errors(const at::Tensor& a, const at::Tensor& b) {
  if (a.dim() != 4 || a.sizes() != b.sizes()) {
    fail("cannot compare patches of shape [{}] with patches of shape [{}]",
         fmt::join(a.sizes(), ", "), fmt::join(b.sizes(), ", "));
  }
  const int64_t rows = a.size(1), columns = a.size(2);
  at::Tensor best = at::full({a.size(0), rows, columns}, -1, a.options());
  for (const int64_t dy : {-1, 0, 1}) {
    for (const int64_t dx : {-1, 0, 1}) {
      const int64_t y = std::max<int64_t>(0, -dy), x = std::max<int64_t>(0, -dx);
      const int64_t height = rows - std::abs(dy), width = columns - std::abs(dx);
      if (height <= 0 || width <= 0) continue;
      const at::Tensor cosine = (a.narrow(1, y, height).narrow(2, x, width) *
                                 b.narrow(1, y + dy, height).narrow(2, x + dx, width))
                                    .sum(3);
      at::Tensor place = best.narrow(1, y, height).narrow(2, x, width);
      place.copy_(at::maximum(place, cosine));
    }
  }
  return 1 - best;
}

at::Tensor worst_region(const at::Tensor& errors, double share) {
  const int64_t patches = errors.flatten(1).size(1);
  const int64_t count = std::max<int64_t>(1, std::llround(share * static_cast<double>(patches)));
  return std::get<1>(errors.flatten(1).topk(count, 1));
}

std::vector<double> mean_error(const at::Tensor& errors, const at::Tensor& region) {
  const at::Tensor worst = errors.flatten(1).gather(1, region).mean(1).to(at::kDouble).contiguous();
  return {worst.const_data_ptr<double>(), worst.const_data_ptr<double>() + worst.numel()};
}

}  // namespace loci::eval
