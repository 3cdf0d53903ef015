// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/math.h"

namespace loci::world {

namespace {

// Taylor series on [-pi/4, pi/4].
double sin_core(double x) {
  const double q = x * x;
  double sum = 1.0 / 6227020800;
  sum = sum * q - 1.0 / 39916800;
  sum = sum * q + 1.0 / 362880;
  sum = sum * q - 1.0 / 5040;
  sum = sum * q + 1.0 / 120;
  sum = sum * q - 1.0 / 6;
  return x + x * q * sum;
}

double cos_core(double x) {
  const double q = x * x;
  double sum = -1.0 / 87178291200;
  sum = sum * q + 1.0 / 479001600;
  sum = sum * q - 1.0 / 3628800;
  sum = sum * q + 1.0 / 40320;
  sum = sum * q - 1.0 / 720;
  sum = sum * q + 1.0 / 24;
  return 1 - q * 0.5 + q * q * sum;
}

// x = quarter * pi/2 + rest with |rest| <= pi/4.
double reduce(double x, int64_t& quarter) {
  const double count = std::floor(x * (2 / kPi) + 0.5);
  quarter = static_cast<int64_t>(count) & 3;
  return (x - count * 1.57079632673412561417) - count * 6.07710050650619224932e-11;
}

float corner(int32_t x, int32_t y, uint32_t seed) { return hash_unit(x, y, seed); }

float fade(float t) { return t * t * (3 - 2 * t); }

}  // namespace

double exact_sin(double x) {
  int64_t quarter;
  const double rest = reduce(x, quarter);
  const double value = quarter & 1 ? cos_core(rest) : sin_core(rest);
  return quarter & 2 ? -value : value;
}

double exact_cos(double x) {
  int64_t quarter;
  const double rest = reduce(x, quarter);
  const double value = quarter & 1 ? sin_core(rest) : cos_core(rest);
  return quarter == 1 || quarter == 2 ? -value : value;
}

double exact_atan2(double y, double x) {
  const double ax = std::abs(x), ay = std::abs(y);
  const double high = std::max(ax, ay), low = std::min(ax, ay);
  if (high == 0) return 0;
  // Halving the angle twice makes the argument smaller than 0.2, where the series converges fast.
  double t = low / high;
  t = t / (1 + std::sqrt(1 + t * t));
  t = t / (1 + std::sqrt(1 + t * t));
  const double q = t * t;
  double sum = 0;
  for (int n = 19; n >= 3; n -= 2) sum = (n % 4 == 1 ? 1.0 : -1.0) / n + q * sum;
  double angle = 4 * (t + t * q * sum);
  if (ay > ax) angle = kPi / 2 - angle;
  if (x < 0) angle = kPi - angle;
  return y < 0 ? -angle : angle;
}

float noise(float x, float y, uint32_t seed) {
  const float fx = std::floor(x), fy = std::floor(y);
  const int32_t ix = static_cast<int32_t>(fx), iy = static_cast<int32_t>(fy);
  const float u = fade(x - fx), v = fade(y - fy);
  return mix(mix(corner(ix, iy, seed), corner(ix + 1, iy, seed), u),
             mix(corner(ix, iy + 1, seed), corner(ix + 1, iy + 1, seed), u), v);
}

float noise(float x, float y, float z, uint32_t seed) {
  const float fz = std::floor(z);
  const uint32_t slice = static_cast<uint32_t>(static_cast<int32_t>(fz));
  const uint32_t low = seed + slice * 0x9e3779b1u;
  return mix(noise(x, y, low), noise(x, y, low + 0x9e3779b1u), fade(z - fz));
}

float fractal_noise(float x, float y, int octaves, uint32_t seed) {
  float sum = 0, weight = 0.5f, total = 0;
  for (int i = 0; i < octaves; ++i) {
    sum += weight * noise(x, y, seed + static_cast<uint32_t>(i) * 101);
    total += weight;
    weight *= 0.5f;
    x = x * 2 + 17.3f;
    y = y * 2 - 9.7f;
  }
  return sum / total;
}

float fractal_noise(float x, float y, float z, int octaves, uint32_t seed) {
  float sum = 0, weight = 0.5f, total = 0;
  for (int i = 0; i < octaves; ++i) {
    sum += weight * noise(x, y, z, seed + static_cast<uint32_t>(i) * 101);
    total += weight;
    weight *= 0.5f;
    x = x * 2 + 17.3f;
    y = y * 2 - 9.7f;
    z = z * 2 + 5.1f;
  }
  return sum / total;
}

}  // namespace loci::world
