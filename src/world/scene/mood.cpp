// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/mood.h"

#include <array>

namespace loci::world {

namespace {

constexpr int kSkySize = 448;  // texels per side, 0.2 degrees at the horizon

// Colours of one sky from the zenith to the horizon, of sunlight and of clouds.
struct Sky {
  uint32_t zenith, middle, horizon, glow, sun, cloud, ridge;
};

constexpr std::array<Sky, 4> kDaySkies = {{
    {0x2f6fd6, 0x69a8ee, 0xc4e2f7, 0xfff0c8, 0xfff1d6, 0xffffff, 0x6f8fb4},
    {0x1f83c9, 0x63c2e3, 0xd0f0ea, 0xfff4d0, 0xfff4dc, 0xfffdf4, 0x5f9aa0},
    {0x4a6fd0, 0x93aef0, 0xf2d9e4, 0xffe2c4, 0xffe9cf, 0xfff4ee, 0x8a86b8},
    {0x2a5fb8, 0x7fb2e6, 0xf0ead0, 0xffe6a8, 0xfff0c4, 0xfffaee, 0x7c90a0},
}};
constexpr std::array<Sky, 4> kDuskSkies = {{
    {0x343a86, 0xb6608f, 0xffab6b, 0xffd27a, 0xffb066, 0xff8f6e, 0x4b3563},
    {0x1f4e86, 0x6f9fb8, 0xffc98a, 0xffe09a, 0xffbd78, 0xf6a58a, 0x3a4f6c},
    {0x4a2f7e, 0xd4578a, 0xff8b66, 0xffc06a, 0xff9a62, 0xff7390, 0x532a5c},
    {0x2b3470, 0x7f64b0, 0xf2a3b4, 0xffd0a0, 0xffb890, 0xd98ac0, 0x40366c},
}};
constexpr std::array<Sky, 3> kNightSkies = {{
    {0x0a1030, 0x142452, 0x2c4680, 0x9fb8ff, 0x93acf0, 0x31446f, 0x10182f},
    {0x081a2e, 0x0f3550, 0x24627a, 0x9fe6ff, 0x86c4e6, 0x2c5a6c, 0x0b1d2a},
    {0x160c34, 0x2a1a5c, 0x4c3488, 0xc0a8ff, 0xa49af0, 0x443a78, 0x170f2e},
}};

const Sky& choose_sky(Time time, Random& random) {
  switch (time) {
    case Time::kDay:
      return kDaySkies[random.below(kDaySkies.size())];
    case Time::kDusk:
      return kDuskSkies[random.below(kDuskSkies.size())];
    case Time::kNight:
      break;
  }
  return kNightSkies[random.below(kNightSkies.size())];
}

class Painter {
 public:
  Painter(const Mood& mood, Horizon horizon, const Sky& sky, const Atmosphere& air, Random& random)
      : mood_(mood),
        horizon_(horizon),
        air_(air),
        zenith_(colour(sky.zenith)),
        middle_(colour(sky.middle)),
        low_(colour(sky.horizon)),
        glow_(colour(sky.glow)),
        cloud_(colour(sky.cloud)),
        ridge_(colour(sky.ridge)),
        cover_(static_cast<float>(random.uniform(0.42, 0.62))),
        aurora_(mood.dark() && mood.weather != Weather::kFog && random.chance(0.4)),
        seed_(static_cast<uint32_t>(random.next())) {
    measure_ridges();
  }

  // Thickness of clouds. It varies slowly, so it is computed for every second texel.
  float cloud_density(const Float3& d) const {
    const float inverse = 1 / (d.y + 0.18f);
    return fractal_noise(d.x * inverse * 1.1f, d.z * inverse * 1.43f, 4, seed_);
  }

  Float3 operator()(const Float3& d, float density) const {
    Float3 sky = d.y < 0.25f ? mix(low_, middle_, smoothstep(0, 0.25f, d.y))
                             : mix(middle_, zenith_, smoothstep(0.25f, 0.85f, d.y));
    const float towards = std::max(0.0f, dot(d, air_.sun_direction));
    const float t2 = towards * towards, t8 = t2 * t2 * t2 * t2;
    if (mood_.time == Time::kDusk)
      sky = mix(sky, glow_, 0.75f * t8 * (1 - smoothstep(0, 0.7f, d.y)));
    if (mood_.time == Time::kDay) sky += glow_ * (0.18f * t8 * t8);
    if (mood_.dark()) sky += stars(d);
    if (aurora_) sky += aurora(d);
    sky += disc(towards);
    sky = clouds(d, density, sky, t8);
    if (mood_.weather == Weather::kFog) {
      // Only the sun's disc and a little of the zenith's colour are visible.
      sky = mix(sky, air_.haze, 0.75f + 0.25f * (1 - smoothstep(0.1f, 0.8f, d.y)));
    }
    sky = ridges(d, sky);
    // The horizon has the colour of the haze, so that the ground fades into it.
    const Float3 haze = air_.haze + air_.sun_haze * (t2 * t2);
    return mix(haze, sky, smoothstep(-0.01f, 0.05f, d.y));
  }

 private:
  Float3 disc(float towards) const {
    if (mood_.weather == Weather::kFog)
      return glow_ * (1.5f * smoothstep(0.9985f, 0.9995f, towards));
    if (mood_.dark())
      return Float3{0.9f, 0.95f, 1.0f} * (1.2f * smoothstep(0.9985f, 0.9991f, towards));
    return glow_ * (3.0f * smoothstep(0.9982f, 0.9992f, towards));
  }

  Float3 stars(const Float3& d) const {
    // Some cells of a cube around the camera have one star each.
    const float scale = 26;
    const float x = d.x * scale, y = d.y * scale, z = d.z * scale;
    const int cx = static_cast<int>(std::floor(x)), cy = static_cast<int>(std::floor(y));
    const int cz = static_cast<int>(std::floor(z));
    const uint32_t cell = hash_cell(cx, cy, seed_ + static_cast<uint32_t>(cz) * 7919);
    if ((cell & 15) > 2) return {};
    const float px =
        static_cast<float>(cx) + 0.3f + 0.4f * static_cast<float>(cell >> 8 & 255) / 255 - x;
    const float py =
        static_cast<float>(cy) + 0.3f + 0.4f * static_cast<float>(cell >> 16 & 255) / 255 - y;
    const float pz =
        static_cast<float>(cz) + 0.3f + 0.4f * static_cast<float>(cell >> 24) / 255 - z;
    const float square = px * px + py * py + pz * pz;
    return Float3{0.9f, 0.95f, 1} *
           (1.4f * smoothstep(0.045f, 0.0f, square) * smoothstep(0.02f, 0.2f, d.y));
  }

  Float3 aurora(const Float3& d) const {
    const float inverse = 1 / (d.y + 0.25f);
    const float band = fractal_noise(d.x * inverse * 1.2f, d.z * inverse * 1.2f, 3, seed_ + 5);
    const float curtain = smoothstep(0.1f, 0, std::abs(band - 0.5f)) * smoothstep(0.08f, 0.3f, d.y);
    return mix(Float3{0.03f, 0.4f, 0.2f}, Float3{0.25f, 0.1f, 0.4f}, smoothstep(0.3f, 0.75f, d.y)) *
           curtain;
  }

  Float3 clouds(const Float3& d, float density, const Float3& sky, float t8) const {
    float amount = smoothstep(cover_, cover_ + 0.2f, density) * smoothstep(0.03f, 0.2f, d.y);
    if (mood_.dark()) amount *= 0.6f;
    const float body = smoothstep(cover_, cover_ + 0.35f, density);
    const Float3 edge = cloud_ * (0.92f + 0.6f * t8) + glow_ * (0.25f * t8);
    return mix(sky, mix(edge, cloud_ * 0.72f + sky * 0.12f, body), amount * 0.9f);
  }

  // Position around the horizon in [0, kAround), without trigonometry.
  static float around(float x, float z) {
    const float t = z / (std::abs(x) + std::abs(z) + 1e-9f);
    return (x >= 0 ? t + 1 : 3 - t) * (kAround / 4.0f);
  }

  float ridge_top(int layer, float ax, float az) const {
    const uint32_t seed = seed_ + 40 + static_cast<uint32_t>(layer);
    const float closeness = static_cast<float>(layer);
    switch (horizon_) {
      case Horizon::kMountains:
        return 0.42f * (fractal_noise(ax * 3.1f + 9, az * 3.1f, 5, seed) - 0.33f) *
               (1 - 0.4f * closeness);
      case Horizon::kMesas: {
        const float rough = fractal_noise(ax * 3.7f + 9, az * 3.7f, 2, seed);
        return 0.11f * smoothstep(0.48f, 0.53f, rough) * (1 - 0.3f * closeness) + 0.03f * rough;
      }
      case Horizon::kHills:
        return 0.13f * (fractal_noise(ax * 2.3f + 9, az * 2.3f, 2, seed) - 0.2f) *
               (1 - 0.35f * closeness);
    }
    return -1;
  }

  void measure_ridges() {
    for (int i = 0; i <= kAround; ++i) {
      const float t = static_cast<float>(i) * (4.0f / kAround);
      const float z = t < 2 ? t - 1 : 3 - t, x = (t < 2 ? 1 : -1) * (1 - std::abs(z));
      const float flat = 1 / std::sqrt(x * x + z * z);
      for (int layer = 0; layer < 2; ++layer)
        tops_[layer][static_cast<size_t>(i)] = ridge_top(layer, x * flat, z * flat);
    }
  }

  Float3 ridges(const Float3& d, Float3 sky) const {
    if (mood_.weather == Weather::kFog || d.y > 0.4f) return sky;
    const float flat = 1 / std::sqrt(d.x * d.x + d.z * d.z + 1e-6f);
    const float height = d.y * flat, position = around(d.x, d.z);
    const size_t cell = std::min(static_cast<size_t>(position), size_t{kAround - 1});
    const float part = position - static_cast<float>(cell);
    for (int layer = 0; layer < 2; ++layer) {
      const float top = mix(tops_[layer][cell], tops_[layer][cell + 1], part);
      const float cover = smoothstep(0.004f, -0.004f, height - top);
      if (cover == 0) continue;
      Float3 rock = mix(air_.haze, ridge_, 0.45f + 0.35f * static_cast<float>(layer));
      if (horizon_ == Horizon::kMountains) {
        const float jag = noise(d.x * flat * 23, d.z * flat * 23, seed_ + 42);
        const float cap = smoothstep(-0.02f, 0.03f, height - 0.07f - 0.05f * jag);
        rock = mix(rock, mix(air_.haze, Float3{1, 1, 1} * dot(air_.haze, {0.4f, 0.4f, 0.4f}), 0.6f),
                   0.8f * cap);
      }
      sky = mix(sky, mix(rock, air_.haze, smoothstep(0.06f, 0, height) * 0.6f), cover);
    }
    return sky;
  }

  static constexpr int kAround = 2048;
  std::array<std::array<float, kAround + 1>, 2> tops_;
  Mood mood_;
  Horizon horizon_;
  const Atmosphere& air_;
  Float3 zenith_, middle_, low_, glow_, cloud_, ridge_;
  float cover_;
  bool aurora_;
  uint32_t seed_;
};

void set_atmosphere(Atmosphere& air, const Mood& mood, const Sky& sky, Random& random) {
  const double azimuth = random.uniform(0, 2 * kPi);
  const double height = (mood.time == Time::kDay    ? random.uniform(34, 56)
                         : mood.time == Time::kDusk ? random.uniform(11, 17)
                                                    : random.uniform(35, 50)) *
                        (kPi / 180);
  air.sun_direction = {static_cast<float>(exact_cos(height) * exact_sin(azimuth)),
                       static_cast<float>(exact_sin(height)),
                       static_cast<float>(exact_cos(height) * exact_cos(azimuth))};
  const Float3 sun = colour(sky.sun), zenith = colour(sky.zenith), middle = colour(sky.middle);
  const Float3 low = colour(sky.horizon);
  const Float3 white{1, 1, 1};
  switch (mood.time) {
    case Time::kDay:
      air.sun_colour = sun * 1.75f;
      air.sky_light = mix(middle, white * 0.75f, 0.45f) * 0.95f;
      air.ground_light = mix(low, Float3{0.5f, 0.45f, 0.38f}, 0.6f) * 0.5f;
      air.haze = low * 0.95f;
      air.sun_haze = colour(sky.glow) * 0.10f;
      air.haze_density = 0.0045f;
      break;
    case Time::kDusk:
      air.sun_colour = sun * 2.0f;
      air.sky_light = mix(mix(zenith, middle, 0.6f), white * 0.4f, 0.3f) * 1.1f;
      air.ground_light = mix(low, middle, 0.5f) * 0.30f;
      air.haze = mix(low, middle, 0.3f) * 0.85f;
      air.sun_haze = colour(sky.glow) * 0.35f;
      air.haze_density = 0.0055f;
      break;
    case Time::kNight:
      air.sun_colour = sun * 0.5f;
      air.sky_light = mix(middle, sun, 0.35f) * 0.95f;
      air.ground_light = mix(zenith, low, 0.5f) * 0.6f;
      air.haze = low * 0.9f;
      air.sun_haze = colour(sky.glow) * 0.03f;
      air.haze_density = 0.006f;
      break;
  }
  if (mood.weather == Weather::kSnow) {
    air.sky_light =
        mix(air.sky_light, white * dot(air.sky_light, {0.4f, 0.4f, 0.4f}), 0.4f) * 1.05f;
    air.ground_light = air.ground_light * 1.6f;
    air.sun_colour = air.sun_colour * 0.8f;
  }
  if (mood.weather == Weather::kFog) {
    const float grey = dot(air.haze, {0.35f, 0.4f, 0.25f});
    air.haze = mix(air.haze, white * grey, 0.3f) * (mood.dark() ? 1.2f : 0.95f);
    air.sun_haze = air.sun_haze * 0.8f;
    air.sun_colour = air.sun_colour * 0.4f;
    air.sky_light = mix(air.sky_light, white * grey, 0.5f) * 1.2f;
    air.ground_light = air.ground_light * 1.3f;
    air.haze_density = static_cast<float>(random.uniform(0.018, 0.03));
  }
}

// Direction of a texel: its coordinates are the sum and the difference of the octahedron's x and z.
Float3 direction_of(int column, int row) {
  const float sum = static_cast<float>(column) / (0.5f * (kSkySize - 1)) - 1;
  const float difference = static_cast<float>(row) / (0.5f * (kSkySize - 1)) - 1;
  const float x = 0.5f * (sum + difference), z = 0.5f * (sum - difference);
  return normalise({x, std::max(0.0f, 1 - std::abs(x) - std::abs(z)), z});
}

void paint_sky(SkyMap& map, const Painter& painter) {
  map.size = kSkySize;
  map.scale = 4;
  map.texels.resize(static_cast<size_t>(kSkySize) * kSkySize);
  constexpr int kHalf = kSkySize / 2 + 1;
  std::vector<float> density(kHalf * kHalf);
  for (int row = 0; row < kHalf; ++row) {
    for (int column = 0; column < kHalf; ++column) {
      density[static_cast<size_t>(row) * kHalf + static_cast<size_t>(column)] =
          painter.cloud_density(direction_of(2 * column, 2 * row));
    }
  }
  for (int row = 0; row < kSkySize; ++row) {
    for (int column = 0; column < kSkySize; ++column) {
      const float* near = density.data() + (row / 2) * kHalf + column / 2;
      const float fx = 0.5f * static_cast<float>(column % 2),
                  fy = 0.5f * static_cast<float>(row % 2);
      const float thickness =
          mix(mix(near[0], near[1], fx), mix(near[kHalf], near[kHalf + 1], fx), fy);
      map.texels[static_cast<size_t>(row) * kSkySize + column] =
          pack_light(painter(direction_of(column, row), thickness), map.scale);
    }
  }
}

}  // namespace

Float3 colour(uint32_t rgb) {
  const auto channel = [rgb](int shift) {
    const float value = static_cast<float>(rgb >> shift & 255) / 255;
    return value * value;
  };
  return {channel(16), channel(8), channel(0)};
}

void make_sky(SceneGeometry& geometry, const Mood& mood, Horizon horizon, Random& random) {
  const Sky& sky = choose_sky(mood.time, random);
  set_atmosphere(geometry.atmosphere, mood, sky, random);
  paint_sky(geometry.sky, Painter(mood, horizon, sky, geometry.atmosphere, random));
}

void make_fair_sky(SceneGeometry& geometry) {
  constexpr Sky kSky = {0x3f8fd2, 0x86c5ee, 0xfaeed6, 0xffecc0, 0xffeccb, 0xffffff, 0x9fb4c8};
  const Mood mood{Time::kDay, Weather::kClear};
  Random random{0x66616972};
  Atmosphere& air = geometry.atmosphere;
  set_atmosphere(air, mood, kSky, random);
  // High enough to light most of the square, and oblique to its sides.
  const double azimuth = 215 * (kPi / 180), height = 52 * (kPi / 180);
  air.sun_direction = {static_cast<float>(exact_cos(height) * exact_sin(azimuth)),
                       static_cast<float>(exact_sin(height)),
                       static_cast<float>(exact_cos(height) * exact_cos(azimuth))};
  air.sun_colour = colour(kSky.sun) * 1.15f;
  air.sky_light = Float3{0.84f, 0.86f, 0.92f};
  air.ground_light = Float3{0.64f, 0.54f, 0.43f};
  air.haze_density = 0.002f;
  paint_sky(geometry.sky, Painter(mood, Horizon::kHills, kSky, air, random));
}

}  // namespace loci::world
