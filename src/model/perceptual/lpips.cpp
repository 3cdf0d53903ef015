// SPDX-License-Identifier: Apache-2.0
#include "loci/model/perceptual/lpips.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/io/tensors/safetensors.h"

namespace loci::model {

namespace {

struct ConvShape {
  int feature;  // index in the classifier's list of layers
  int64_t out, in, kernel, stride, padding, pool;
  bool tap;
};

// AlexNet pools 3x3, VGG 2x2, both with stride 2.
const std::vector<ConvShape>& shapes(LpipsNet net) {
  static const std::vector<ConvShape> alex = {
      {0, 64, 3, 11, 4, 2, 0, true},    {3, 192, 64, 5, 1, 2, 3, true},
      {6, 384, 192, 3, 1, 1, 3, true},  {8, 256, 384, 3, 1, 1, 0, true},
      {10, 256, 256, 3, 1, 1, 0, true},
  };
  static const std::vector<ConvShape> vgg = {
      {0, 64, 3, 3, 1, 1, 0, false},     {2, 64, 64, 3, 1, 1, 0, true},
      {5, 128, 64, 3, 1, 1, 2, false},   {7, 128, 128, 3, 1, 1, 0, true},
      {10, 256, 128, 3, 1, 1, 2, false}, {12, 256, 256, 3, 1, 1, 0, false},
      {14, 256, 256, 3, 1, 1, 0, true},  {17, 512, 256, 3, 1, 1, 2, false},
      {19, 512, 512, 3, 1, 1, 0, false}, {21, 512, 512, 3, 1, 1, 0, true},
      {24, 512, 512, 3, 1, 1, 2, false}, {26, 512, 512, 3, 1, 1, 0, false},
      {28, 512, 512, 3, 1, 1, 0, true},
  };
  return net == LpipsNet::kAlex ? alex : vgg;
}

// Frames [T, H, W, 3] as pictures [T, 3, H, W] in [-1, 1].
at::Tensor pictures_of(const at::Tensor& frames) {
  if (frames.dim() != 4 || frames.size(3) != 3) {
    fail("frames have shape [{}]; expected [frames, height, width, 3]",
         fmt::join(frames.sizes(), ", "));
  }
  at::Tensor x = frames.to(at::kFloat).permute({0, 3, 1, 2});
  if (frames.scalar_type() == at::kByte) x = x / 255;
  return 2 * x - 1;
}

// Channel vectors of length 1. The small term under the root changes no other value, but keeps the
// gradient of a zero vector finite.
at::Tensor unit(const at::Tensor& features) {
  return features / ((features.square().sum(1, /*keepdim=*/true) + 1e-20).sqrt() + 1e-10);
}

}  // namespace

Lpips::Lpips(LpipsNet net, const FindWeight& find, const std::string& source) : net_(net) {
  const auto checked = [&](const std::string& name, at::IntArrayRef shape) {
    const at::Tensor tensor = find(name);
    if (!tensor.defined() || tensor.sizes() != shape) {
      fail("{}: {} has shape [{}]; expected [{}]", source, name,
           tensor.defined() ? fmt::format("{}", fmt::join(tensor.sizes(), ", ")) : "missing",
           fmt::join(shape, ", "));
    }
    return tensor.to(at::kFloat).contiguous().detach();
  };
  for (const ConvShape& shape : shapes(net)) {
    const std::string name = fmt::format("features.{}", shape.feature);
    convs_.push_back({checked(name + ".weight", {shape.out, shape.in, shape.kernel, shape.kernel}),
                      checked(name + ".bias", {shape.out}), shape.stride, shape.padding, shape.pool,
                      shape.tap});
    if (!shape.tap) continue;
    heads_.push_back(
        checked(fmt::format("lin{}.model.1.weight", heads_.size()), {1, shape.out, 1, 1}));
  }
}

Lpips Lpips::load(LpipsNet net, const std::filesystem::path& file) {
  const io::SafetensorsFile weights = io::SafetensorsFile::open(file);
  return Lpips(
      net, [&](const std::string& name) { return weights.tensor(name); }, file.string());
}

Lpips Lpips::load(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) {
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
    fail("{} does not exist; python3 scripts/fetch_lpips.py {} writes the weights of LPIPS",
         file.string(), folder.string());
  }
  const bool vgg = io::SafetensorsFile::open(file).has("features.28.weight");
  return load(vgg ? LpipsNet::kVgg : LpipsNet::kAlex, file);
}

std::vector<at::Tensor> Lpips::features(const at::Tensor& pictures) const {
  if (std::min(pictures.size(2), pictures.size(3)) < kMinSide) {
    fail("pictures of {}x{} are too small for LPIPS; expected at least {}x{}", pictures.size(3),
         pictures.size(2), kMinSide, kMinSide);
  }
  const at::Tensor shift = at::tensor({-.030f, -.088f, -.188f}).view({1, 3, 1, 1});
  const at::Tensor scale = at::tensor({.458f, .448f, .450f}).view({1, 3, 1, 1});
  std::vector<at::Tensor> taps;
  at::Tensor x = (pictures - shift) / scale;
  for (const Conv& conv : convs_) {
    if (conv.pool > 0) x = at::max_pool2d(x, {conv.pool, conv.pool}, {2, 2});
    x = at::relu(at::conv2d(x, conv.weight, conv.bias, conv.stride, conv.padding));
    if (conv.tap) taps.push_back(x);
  }
  return taps;
}

at::Tensor Lpips::loss(const at::Tensor& pictures, const at::Tensor& targets) const {
  LOCI_CHECK(pictures.dim() == 4 && pictures.sizes() == targets.sizes(),
             "LPIPS of pictures [{}] and targets [{}]", fmt::join(pictures.sizes(), ", "),
             fmt::join(targets.sizes(), ", "));
  const std::vector<at::Tensor> wanted = [&] {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> taps = features(targets);
    for (at::Tensor& tap : taps) tap = unit(tap);
    return taps;
  }();
  const std::vector<at::Tensor> taps = features(pictures);
  at::Tensor sum;
  for (size_t i = 0; i < heads_.size(); ++i) {
    // The mean over pixels first: the head is linear.
    const at::Tensor squares = (unit(taps[i]) - wanted[i]).square().mean({0, 2, 3});
    const at::Tensor part = at::dot(squares, heads_[i].flatten());
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

std::vector<at::Tensor> Lpips::layer_maps(const at::Tensor& a, const at::Tensor& b) const {
  if (a.sizes() != b.sizes()) {
    fail("cannot compare frames of shape [{}] with frames of shape [{}]; resize or crop them first",
         fmt::join(a.sizes(), ", "), fmt::join(b.sizes(), ", "));
  }
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> left = features(pictures_of(a)), right = features(pictures_of(b));
  std::vector<at::Tensor> maps;
  for (size_t i = 0; i < heads_.size(); ++i) {
    maps.push_back(at::conv2d((unit(left[i]) - unit(right[i])).square(), heads_[i]));
  }
  return maps;
}

std::vector<double> Lpips::distance(const at::Tensor& a, const at::Tensor& b) const {
  std::vector<double> distances;
  // Frame by frame, to limit memory: the first layers of VGG have 64 channels per pixel.
  for (int64_t i = 0; i < a.size(0); ++i) {
    double sum = 0;
    for (const at::Tensor& map : layer_maps(a.narrow(0, i, 1), b.narrow(0, i, 1))) {
      sum += map.mean().item<double>();
    }
    distances.push_back(sum);
  }
  return distances;
}

at::Tensor Lpips::distance_map(const at::Tensor& a, const at::Tensor& b) const {
  at::Tensor sum = at::zeros({a.size(0), a.size(1), a.size(2)}, at::kFloat);
  for (int64_t i = 0; i < a.size(0); ++i) {
    for (const at::Tensor& map : layer_maps(a.narrow(0, i, 1), b.narrow(0, i, 1))) {
      sum[i] += at::upsample_bilinear2d(map, {a.size(1), a.size(2)}, /*align_corners=*/false)[0][0];
    }
  }
  return sum;
}

}  // namespace loci::model
