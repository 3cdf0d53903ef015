// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/draft.h"

#include "loci/world/scene/patterns.h"

namespace loci::world {

namespace {

constexpr NamedColour kAccents[] = {
    {"red", 0xd8342c},   {"blue", 0x2f5fd0},   {"yellow", 0xf2c230}, {"white", 0xf3efe4},
    {"green", 0x2e9a58}, {"purple", 0x8444b8}, {"orange", 0xf07f22}, {"turquoise", 0x24b3ac},
    {"pink", 0xea6f9c},  {"black", 0x2c2c36},
};

constexpr int kGroundSize = 512;  // samples per side

float distance_to_segment(float x, float z, const GroundStroke& s) {
  const float ax = s.x1 - s.x0, az = s.z1 - s.z0, px = x - s.x0, pz = z - s.z0;
  const float square = ax * ax + az * az;
  const float t = square > 0 ? clamp01((px * ax + pz * az) / square) : 0.0f;
  const float dx = px - t * ax, dz = pz - t * az;
  return std::sqrt(dx * dx + dz * dz);
}

}  // namespace

PaintedGround Ground::paint() const {
  PaintedGround result;
  result.size = kGroundSize;
  result.half_extent = extent;
  result.far_albedo = mix(base, second, 0.5f);
  result.samples.resize(static_cast<size_t>(kGroundSize) * kGroundSize);
  const float metre = 2 * extent / (kGroundSize - 1);
  const auto place = [&](int i) { return static_cast<float>(i) * metre - extent; };

  // Low-frequency noise needs only every fourth sample.
  constexpr int kStep = 4, kCoarse = kGroundSize / kStep + 2;
  std::vector<float> patches(kCoarse * kCoarse), wobble(kCoarse * kCoarse);
  for (int row = 0; row < kCoarse; ++row) {
    for (int column = 0; column < kCoarse; ++column) {
      const float x = place(column * kStep), z = place(row * kStep);
      const size_t at = static_cast<size_t>(row) * kCoarse + static_cast<size_t>(column);
      const float slow = noise(x / patch, z / patch, seed) * 0.7f +
                         noise(x / patch * 3, z / patch * 3, seed + 1) * 0.3f;
      patches[at] = smoothstep(0.3f, 0.7f, slow);
      wobble[at] = 0.5f * (noise(x * 0.9f, z * 0.9f, seed + 2) - 0.5f);
    }
  }
  const auto coarse = [&](const std::vector<float>& from, int column, int row) {
    const float* at = from.data() + (row / kStep) * kCoarse + column / kStep;
    const float fx = static_cast<float>(column % kStep) / kStep,
                fy = static_cast<float>(row % kStep) / kStep;
    return mix(mix(at[0], at[1], fx), mix(at[kCoarse], at[kCoarse + 1], fx), fy);
  };
  for (int row = 0; row < kGroundSize; ++row) {
    for (int column = 0; column < kGroundSize; ++column) {
      result.samples[static_cast<size_t>(row) * kGroundSize + static_cast<size_t>(column)] = {
          mix(base, second, coarse(patches, column, row)), 0};
    }
  }
  for (const GroundStroke& stroke : strokes) {
    const float reach = std::max(stroke.radius, 0.0f) + stroke.soft + 0.3f;
    const auto cell = [&](float value) {
      return std::clamp(static_cast<int>(std::floor((value + extent) / metre)), 0,
                        kGroundSize - 1);
    };
    const bool rough = stroke.radius >= 0 && stroke.soft > 0.2f;  // a trodden path, not paving
    for (int row = cell(std::min(stroke.z0, stroke.z1) - reach);
         row <= cell(std::max(stroke.z0, stroke.z1) + reach); ++row) {
      for (int column = cell(std::min(stroke.x0, stroke.x1) - reach);
           column <= cell(std::max(stroke.x0, stroke.x1) + reach); ++column) {
        const float x = place(column), z = place(row);
        float outside = stroke.radius < 0 ? std::max(std::max(stroke.x0 - x, x - stroke.x1),
                                                     std::max(stroke.z0 - z, z - stroke.z1))
                                          : distance_to_segment(x, z, stroke) - stroke.radius;
        if (rough) outside += coarse(wobble, column, row);
        const float cover = smoothstep(stroke.soft, 0, outside);
        if (cover == 0) continue;
        GroundColour& sample =
            result.samples[static_cast<size_t>(row) * kGroundSize + static_cast<size_t>(column)];
        sample.albedo = mix(sample.albedo, stroke.albedo, cover);
        sample.path = mix(sample.path, stroke.path, cover);
      }
    }
  }
  return result;
}

Draft::Draft(SceneGeometry& target, const Mood& m, uint64_t seed)
    : geometry(target), build(target), mood(m), random({seed, 0x776f726c64}) {
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

void Draft::feature(std::string text, bool first) {
  const bool vowel =
      text.size() > 2 && std::string_view("aeiou").find(text[2]) != std::string_view::npos;
  if (vowel && text.starts_with("a ")) text = "an " + text.substr(2);
  features.insert(first ? features.begin() : features.end(), std::move(text));
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
