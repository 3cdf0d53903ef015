// SPDX-License-Identifier: Apache-2.0
// Pictures that follow from a formula, so that they need not be stored.
#pragma once

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

namespace loci::eval {

// uint8 [1, height, width, 3]: waves, and a pattern that stands for noise. The same formula as in
// tests/data/eval/make_metrics.py and make_drift.py.
inline at::Tensor formula_picture(int64_t height, int64_t width, double phase, double noise) {
  at::Tensor frame = at::empty({1, height, width, 3}, at::kByte);
  auto pixels = frame.accessor<uint8_t, 4>();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        const auto position = static_cast<double>(c);
        const double wave = 0.5 + 0.4 * std::sin(0.3 * static_cast<double>(x) +
                                                 0.2 * static_cast<double>(y) + position + phase);
        const double pattern =
            static_cast<double>((x * 7919 + y * 104729 + c * 1299709) % 97) / 97.0 - 0.5;
        const double value = std::floor(255 * (wave + noise * pattern));
        pixels[0][y][x][c] = static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
      }
    }
  }
  return frame;
}

}  // namespace loci::eval
