// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/tiny_decoder.h"

#include <algorithm>
#include <map>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/io/tensors/checkpoint.h"
#include "loci/kernels/convolution/conv_3x3.h"

namespace loci::model {

namespace {

// Frames that become of one frame, per level.
constexpr std::array<int64_t, 3> kGrowth = {1, 2, 2};

// Positions of the layers in the original sequence. The numbers in between are blocks and layers
// without weights.
struct Positions {
  std::string in;
  std::array<int64_t, 3> first_block;
  std::array<std::string, 3> change, grow;
  std::string out;
};

const Positions& positions(bool wide) {
  static const Positions usual = {"1", {3, 9, 15}, {"8", "14", "20"}, {"7", "13", "19"}, "22"};
  static const Positions larger = {"0", {1, 8, 15}, {"4", "11", "18"}, {"7", "14", "21"}, "22"};
  return wide ? larger : usual;
}

// [T, B, H, W, 4C] → [T, B, 2H, 2W, C]; the channels of a pixel are ordered by C, row and column.
at::Tensor shuffle_pixels(const at::Tensor& x) {
  return x.unflatten(-1, {-1, 2, 2})
      .permute({0, 1, 2, 5, 3, 6, 4})
      .flatten(4, 5)
      .flatten(2, 3)
      .contiguous();
}

// [T, B, H, W, C] → [T, B, 2H, 2W, C]
at::Tensor repeat_pixels(const at::Tensor& x) {
  return x.unsqueeze(3)
      .unsqueeze(5)
      .expand({-1, -1, -1, 2, -1, 2, -1})
      .reshape({x.size(0), x.size(1), 2 * x.size(2), 2 * x.size(3), x.size(4)});
}

// [T, B, H, W, n * C] → [n * T, B, H, W, C]
at::Tensor split_frames(const at::Tensor& x, int64_t n) {
  if (n == 1) return x;
  return x.unflatten(-1, {n, -1}).permute({0, 4, 1, 2, 3, 5}).flatten(0, 1).contiguous();
}

}  // namespace

TinyDecoder::Conv::Conv(const Scope& scope, int64_t out, int64_t in, int64_t kernel, bool with_bias,
                        int64_t groups)
    : weight(scope.parameter("weight", {out, in / groups, kernel, kernel},
                             init::fan_in(in / groups * kernel * kernel))) {
  if (kernel == 3) {
    weight = weight.contiguous(at::MemoryFormat::ChannelsLast);
    scope.replace("weight", weight);
  }
  if (with_bias) bias = scope.parameter("bias", {out}, init::zeros);
}

at::Tensor TinyDecoder::Conv::operator()(const at::Tensor& x) const {
  const int64_t kernel = weight.size(-1);
  if (kernel == 1) return at::linear(x, weight.flatten(1), bias);
  const at::Tensor pictures = x.flatten(0, 1);
  at::Tensor y;
  if (kernel == 3) {
    y = kernels::conv_3x3(pictures, weight, bias);
  } else {  // a group per channel
    const int64_t around = kernel / 2;
    y = at::conv2d(pictures.permute({0, 3, 1, 2}), weight, bias, {1, 1}, {around, around}, {1, 1},
                   weight.size(0))
            .permute({0, 2, 3, 1})
            .contiguous();
  }
  return y.unflatten(0, {x.size(0), x.size(1)});
}

TinyDecoder::Block::Block(const Scope& scope, int64_t channels, bool wide)
    : name(scope.name()), wide(wide) {
  const Scope conv = scope["conv"];
  if (wide) {
    first = Conv(conv["0"], 2 * channels, 2 * channels, 7, false, 2 * channels);
    second = Conv(conv["1"], 4 * channels, 2 * channels, 1, true);
    third = Conv(conv["3"], channels, 4 * channels, 1, false);
  } else {
    first = Conv(conv["0"], channels, 2 * channels, 3, true);
    second = Conv(conv["2"], channels, channels, 3, true);
    third = Conv(conv["4"], channels, channels, 3, true);
  }
}

at::Tensor TinyDecoder::Block::operator()(const at::Tensor& x, bool started,
                                          VaeCache& cache) const {
  const int64_t frames = x.size(0);
  at::Tensor past = cache.take(name, started, x.sizes().slice(1));
  past = past.defined() ? past.to(x.scalar_type()).unsqueeze(0) : at::zeros_like(x.narrow(0, 0, 1));
  const at::Tensor last = x.select(0, frames - 1);
  cache.put(name, frames == 1 ? last : last.clone());
  if (frames > 1) past = at::cat({past, x.narrow(0, 0, frames - 1)});
  at::Tensor y = first(at::cat({x, past}, -1));
  if (wide) return third(second(y).relu_()).add_(x);
  y = second(y.relu_());
  return third(y.relu_()).add_(x).relu_();
}

TinyDecoder::TinyDecoder(const Sizes& sizes, std::unique_ptr<Parameters> parameters)
    : sizes_(sizes), parameters_(std::move(parameters)) {
  const Scope scope = Scope(*parameters_)["decoder"];
  const Positions& layers = positions(sizes.wide);
  in_ = Conv(scope[layers.in], sizes.channels[0], sizes.z_dim, sizes.wide ? 1 : 3, !sizes.wide);
  for (size_t i = 0; i < kLevels; ++i) {
    const int64_t channels = sizes.channels[i], next = sizes.channels[i + 1];
    Level level;
    for (int64_t j = 0; j < 3; ++j) {
      level.blocks.emplace_back(scope[layers.first_block[i] + j], channels, sizes.wide);
    }
    level.frames = kGrowth[i];
    // The larger variant changes the channels first.
    const int64_t grown = sizes.wide ? next : channels;
    level.change =
        Conv(scope[layers.change[i]], sizes.wide ? 4 * next : next, channels, 3, sizes.wide);
    level.grow = Conv(scope[layers.grow[i]]["conv"], grown * level.frames, grown, 1, false);
    levels_.push_back(std::move(level));
  }
  out_ = Conv(scope[layers.out], 3 * sizes.patch * sizes.patch, sizes.channels[kLevels], 3, true);
}

TinyDecoder TinyDecoder::load(const std::filesystem::path& path, at::ScalarType dtype) {
  const io::Checkpoint file = io::Checkpoint::open(path);
  const auto shape_of = [&](const std::string& name) {
    if (!file.has(name) || file.info(name).shape.size() != 4) {
      fail(
          "{} has no convolution '{}': it is not a small decoder of TAEHV; give "
          "taew2_2.safetensors "
          "or taew2_2.pth",
          file.path().string(), name);
    }
    return file.info(name).shape;
  };
  Sizes sizes;
  sizes.wide = file.has("decoder.0.weight");
  const Positions& layers = positions(sizes.wide);
  const auto weight = [](const std::string& position) { return "decoder." + position + ".weight"; };
  sizes.z_dim = shape_of(weight(layers.in))[1];
  for (size_t i = 0; i < kLevels; ++i) sizes.channels[i] = shape_of(weight(layers.change[i]))[1];
  const std::vector<int64_t> last = shape_of(weight(layers.out));
  sizes.channels[kLevels] = last[1];
  while (3 * (sizes.patch + 1) * (sizes.patch + 1) <= last[0]) ++sizes.patch;
  if (std::min({sizes.z_dim, sizes.patch,
                *std::min_element(sizes.channels.begin(), sizes.channels.end())}) < 1) {
    fail("{}: the decoder has layers without channels", file.path().string());
  }

  // Files for a higher frame rate have more rows in a layer that adds frames; the last ones are for
  // the last frames.
  std::map<std::string, int64_t> grown;
  for (size_t i = 0; i < kLevels; ++i) {
    grown["decoder." + layers.grow[i] + ".conv.weight"] =
        kGrowth[i] * sizes.channels[sizes.wide ? i + 1 : i];
  }
  const auto find = [&](const std::string& name, bool sketch) {
    if (!file.has(name)) return at::Tensor();
    at::Tensor tensor = sketch ? file.meta(name) : file.tensor(name);
    const auto rows = grown.find(name);
    if (rows == grown.end() || tensor.dim() == 0 || tensor.size(0) <= rows->second) return tensor;
    return tensor.narrow(0, tensor.size(0) - rows->second, rows->second);
  };
  {
    // On meta tensors first, so that a file that does not fit is rejected before memory is
    // allocated.
    const TinyDecoder sketch(sizes, std::make_unique<Parameters>(
                                        Parameters::Options{.device = at::kMeta},
                                        [&](const std::string& name) { return find(name, true); }));
    std::vector<std::string> available = file.names();
    std::erase_if(available, [](const std::string& name) { return name.starts_with("encoder."); });
    const LoadReport report = sketch.parameters().report(available);
    if (!report.clean()) {
      fail("{} is not a complete small decoder of TAEHV; tensors {}", file.path().string(),
           report.text());
    }
  }
  TinyDecoder decoder(sizes, std::make_unique<Parameters>(
                                 Parameters::Options{.dtype = dtype},
                                 [&](const std::string& name) { return find(name, false); }));
  decoder.parameters_->release_source();
  decoder.source_ = file.path().string();
  return decoder;
}

int64_t TinyDecoder::temporal_factor() const {
  int64_t frames = 1;
  for (const Level& level : levels_) frames *= level.frames;
  return frames;
}

void TinyDecoder::check(const VaeConfig& config) const {
  if (z_dim() == config.z_dim && spatial_factor() == config.spatial_factor() &&
      temporal_factor() == config.temporal_factor()) {
    return;
  }
  fail(
      "{} decodes latents of {} channels, {}x{} pixels and {} frames; the model's autoencoder has "
      "{} channels, {}x{} pixels and {} frames; taew2_2 fits the autoencoder of Wan2.2 5B",
      source_, z_dim(), spatial_factor(), spatial_factor(), temporal_factor(), config.z_dim,
      config.spatial_factor(), config.spatial_factor(), config.temporal_factor());
}

uint64_t TinyDecoder::state_size(int64_t height, int64_t width) const {
  uint64_t size = 0;
  auto positions = static_cast<uint64_t>(height) * static_cast<uint64_t>(width);
  for (size_t i = 0; i < kLevels; ++i, positions *= 4) {
    size += levels_[i].blocks.size() * positions * static_cast<uint64_t>(sizes_.channels[i]);
  }
  return size;
}

at::Tensor TinyDecoder::finish(at::Tensor x, size_t level, bool started, VaeCache& cache,
                               int64_t large_frame) const {
  if (x.size(0) > 1 && x.numel() / x.size(0) > large_frame) {
    std::vector<at::Tensor> parts;
    for (int64_t t = 0; t < x.size(0); ++t) {
      parts.push_back(finish(x.narrow(0, t, 1), level, started || t > 0, cache, large_frame));
    }
    return at::cat(parts);
  }
  if (level == kLevels) return out_(sizes_.wide ? x : x.relu_());
  const Level& now = levels_[level];
  for (const Block& block : now.blocks) x = block(x, started, cache);
  if (sizes_.wide) {
    x = split_frames(now.grow(shuffle_pixels(now.change(x).relu_())), now.frames);
  } else {
    // Repeating pixels after the 1x1 convolution gives the same values as before it.
    x = now.change(repeat_pixels(split_frames(now.grow(x), now.frames)));
  }
  return finish(std::move(x), level + 1, started, cache, large_frame);
}

at::Tensor TinyDecoder::decode(const at::Tensor& latents, VaeCache& cache,
                               int64_t large_frame) const {
  LOCI_CHECK(latents.dim() == 5, "latents have {} dimensions, expected [B, z, T, h, w]",
             latents.dim());
  if (latents.size(1) != z_dim()) {
    fail("latents have {} channels; the small decoder expects {}", latents.size(1), z_dim());
  }
  const at::NoGradGuard no_grad;
  const bool first = cache.latents() == 0;
  at::Tensor x = latents.permute({2, 0, 3, 4, 1}).to(parameters_->options().dtype).contiguous();
  x = sizes_.wide ? in_(x) : in_((x / 3).tanh_().mul_(3)).relu_();
  x = finish(std::move(x), 0, !first, cache, large_frame).to(at::kFloat);
  cache.count(latents.size(2));
  // [T, B, H, W, 3pp] → [B, 3, T, pH, pW]; the channels are ordered by colour, row and column.
  const at::Tensor frames = x.unflatten(-1, {3, sizes_.patch, sizes_.patch})
                                .permute({1, 4, 0, 2, 5, 3, 6})
                                .flatten(5, 6)
                                .flatten(3, 4)
                                .mul(2)
                                .sub_(1)
                                .clamp_(-1, 1);
  // The first latent stands for one frame, which is the last one of its group.
  const int64_t extra = first ? temporal_factor() - 1 : 0;
  return frames.narrow(2, extra, frames.size(2) - extra);
}

}  // namespace loci::model
