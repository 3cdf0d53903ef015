// SPDX-License-Identifier: Apache-2.0
#include "loci/world/draft.h"

#include "loci/world/patterns.h"

namespace loci::world {

namespace {

constexpr NamedColour kAccents[] = {
    {"red", 0xd8342c},    {"blue", 0x2f5fd0},   {"yellow", 0xf2c230}, {"white", 0xf3efe4},
    {"green", 0x2e9a58},  {"purple", 0x8444b8}, {"orange", 0xf07f22}, {"turquoise", 0x24b3ac},
    {"pink", 0xea6f9c},   {"black", 0x2c2c36},
};

float distance_to_segment(float x, float z, const GroundStroke& s) {
  const float ax = s.x1 - s.x0, az = s.z1 - s.z0, px = x - s.x0, pz = z - s.z0;
  const float square = ax * ax + az * az;
  const float t = square > 0 ? clamp01((px * ax + pz * az) / square) : 0.0f;
  const float dx = px - t * ax, dz = pz - t * az;
  return std::sqrt(dx * dx + dz * dz);
}

}  // namespace

GroundColour Ground::at(float x, float z) const {
  const float slow = noise(x / patch, z / patch, seed) * 0.7f + noise(x / patch * 3, z / patch * 3, seed + 1) * 0.3f;
  GroundColour result{mix(base, second, smoothstep(0.3f, 0.7f, slow)), 0};
  const float wobble = 0.5f * (noise(x * 0.9f, z * 0.9f, seed + 2) - 0.5f);
  for (const GroundStroke& stroke : strokes) {
    float outside;
    if (stroke.radius < 0) {
      outside = std::max(std::max(stroke.x0 - x, x - stroke.x1), std::max(stroke.z0 - z, z - stroke.z1));
    } else {
      outside = distance_to_segment(x, z, stroke) - stroke.radius + (stroke.soft > 0.2f ? wobble : 0.0f);
    }
    const float cover = smoothstep(stroke.soft, 0, outside);
    if (cover == 0) continue;
    result.albedo = mix(result.albedo, stroke.albedo, cover);
    result.path = mix(result.path, stroke.path, cover);
  }
  return result;
}

Draft::Draft(Scene& target, const Mood& m, uint64_t seed)
    : scene(target), build(target), mood(m), random({seed, 0x776f726c64}) {
  accents_.assign(std::begin(kAccents), std::end(kAccents));
  ground.seed = static_cast<uint32_t>(random.next());
  snow_ = material(kSnow, 3, colour(0xf4f7fb), colour(0xe2eaf4), colour(0xf4f7fb));
}

NamedColour Draft::take_accent() {
  if (accents_.empty()) accents_.assign(std::begin(kAccents), std::end(kAccents));
  const size_t index = random.below(accents_.size());
  const NamedColour accent = accents_[index];
  accents_.erase(accents_.begin() + static_cast<std::ptrdiff_t>(index));
  return accent;
}

int32_t Draft::matte(int32_t pattern, float tile, const Float3& base, float contrast) {
  return material(pattern, tile, base, base * (1 - contrast), base * (1 - 1.8f * contrast));
}

int32_t Draft::material(int32_t pattern, float tile, const Float3& base, const Float3& second,
                        const Float3& third, const Float3& glow) {
  Material made;
  made.pattern = pattern;
  made.tile = tile;
  made.base = base;
  made.second = second;
  made.third = third;
  made.glow = glow;
  return build.material(made);
}

int32_t Draft::shining(const Float3& glow) { return material(kGlow, 1, {}, {}, {}, glow); }

int32_t Draft::water(const Float3& base) {
  Material made;
  made.pattern = kRipples;
  made.tile = 3;
  made.base = base;
  made.second = base * 1.5f;
  made.third = base;
  made.mirror = 0.12f;
  return build.material(made);
}

bool Draft::is_free(float x, float z, float radius) const {
  for (const Disc& disc : claimed_) {
    const float dx = disc.x - x, dz = disc.z - z, apart = disc.radius + radius;
    if (dx * dx + dz * dz < apart * apart) return false;
  }
  return true;
}

bool Draft::claim(float x, float z, float radius) {
  if (!is_free(x, z, radius)) return false;
  claimed_.push_back({x, z, radius});
  return true;
}

}  // namespace loci::world
