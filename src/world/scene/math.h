// SPDX-License-Identifier: Apache-2.0
// Arithmetic of procedural scenes. Only IEEE additions, multiplications, divisions and square roots
// are used: sine and exponential of C libraries differ in the last bit between machines, and scenes
// must not. Scene axes: x right, y UP, z forward, metres.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace loci::world {

constexpr double kPi = 3.14159265358979323846;

struct Float3 {
  float x = 0, y = 0, z = 0;

  Float3 operator+(const Float3& o) const { return {x + o.x, y + o.y, z + o.z}; }
  Float3 operator-(const Float3& o) const { return {x - o.x, y - o.y, z - o.z}; }
  Float3 operator*(float s) const { return {x * s, y * s, z * s}; }
  Float3 operator*(const Float3& o) const { return {x * o.x, y * o.y, z * o.z}; }
  Float3 operator-() const { return {-x, -y, -z}; }
  Float3& operator+=(const Float3& o) { return *this = *this + o; }
  bool operator==(const Float3&) const = default;
};

inline float dot(const Float3& a, const Float3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Float3 cross(const Float3& a, const Float3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline Float3 normalise(const Float3& a) { return a * (1 / std::sqrt(dot(a, a))); }

inline float clamp01(float x) { return x < 0 ? 0.0f : x > 1 ? 1.0f : x; }
inline float mix(float a, float b, float t) { return a + (b - a) * t; }
inline Float3 mix(const Float3& a, const Float3& b, float t) { return a + (b - a) * t; }
// 0 below `low`, 1 above `high`, smooth in between.
inline float smoothstep(float low, float high, float x) {
  const float t = clamp01((x - low) / (high - low));
  return t * t * (3 - 2 * t);
}

// sin and cos of any angle below 1e6 radians, error < 1e-12.
double exact_sin(double x);
double exact_cos(double x);
// Angle of (x, y) in (-pi, pi], error < 1e-11; 0 for the zero vector.
double exact_atan2(double y, double x);

// Smooth value noise in [0, 1] without a period, feature size 1.
float noise(float x, float y, uint32_t seed);
float noise(float x, float y, float z, uint32_t seed);
// Sum of `octaves` noises, each with half of the size and weight of the one before, in [0, 1].
float fractal_noise(float x, float y, int octaves, uint32_t seed);
float fractal_noise(float x, float y, float z, int octaves, uint32_t seed);

// A well-mixed 32-bit hash of integer coordinates.
inline uint32_t hash_cell(int32_t x, int32_t y, uint32_t seed) {
  uint32_t h = static_cast<uint32_t>(x) * 0x8da6b343u ^ static_cast<uint32_t>(y) * 0xd8163841u ^
               (seed + 0x9e3779b9u) * 0xcb1ab31fu;
  h = (h ^ (h >> 15)) * 0x2c1b3c6du;
  h = (h ^ (h >> 12)) * 0x297a2d39u;
  return h ^ (h >> 15);
}
inline float hash_unit(int32_t x, int32_t y, uint32_t seed) {
  return static_cast<float>(hash_cell(x, y, seed) >> 8) * 0x1.0p-24f;
}

}  // namespace loci::world
