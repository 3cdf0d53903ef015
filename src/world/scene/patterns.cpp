// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/patterns.h"

#include <algorithm>
#include <array>

#include "loci/world/scene/math.h"

namespace loci::world {

namespace {

struct Texel {
  float second = 0, third = 0, shade = 1, glow = 0;
};

// Value noise that repeats every `period` cells.
float tiling_noise(float x, float y, int period, uint32_t seed) {
  const float fx = std::floor(x), fy = std::floor(y);
  const auto wrap = [period](float value) {
    const int cell = static_cast<int>(value) % period;
    return cell < 0 ? cell + period : cell;
  };
  const int x0 = wrap(fx), x1 = wrap(fx + 1), y0 = wrap(fy), y1 = wrap(fy + 1);
  const float tx = x - fx, ty = y - fy;
  const float u = tx * tx * (3 - 2 * tx), v = ty * ty * (3 - 2 * ty);
  return mix(mix(hash_unit(x0, y0, seed), hash_unit(x1, y0, seed), u),
             mix(hash_unit(x0, y1, seed), hash_unit(x1, y1, seed), u), v);
}

float tiling_fractal(float u, float v, int cells, int octaves, uint32_t seed) {
  float sum = 0, weight = 0.5f, total = 0;
  for (int i = 0; i < octaves; ++i, cells *= 2, weight *= 0.5f) {
    sum += weight * tiling_noise(u * static_cast<float>(cells), v * static_cast<float>(cells),
                                 cells, seed + static_cast<uint32_t>(i));
    total += weight;
  }
  return sum / total;
}

// Position in a grid of columns x rows. Every second row is shifted by the share `shift` of a cell.
struct Cell {
  int column, row;
  float x, y;  // in [0, 1)
};
Cell cell_at(float u, float v, int columns, int rows, float shift = 0) {
  const float row = std::floor(v * static_cast<float>(rows));
  const float x = u * static_cast<float>(columns) + (static_cast<int>(row) % 2 ? shift : 0.0f);
  const float column = std::floor(x);
  return {static_cast<int>(column) % columns, static_cast<int>(row), x - column,
          v * static_cast<float>(rows) - row};
}

// 1 inside the cell, 0 in the joint around it. Widths are shares of the cell.
float inside(const Cell& cell, float joint_x, float joint_y, float soft) {
  const float dx = std::min(cell.x, 1 - cell.x), dy = std::min(cell.y, 1 - cell.y);
  return smoothstep(joint_x, joint_x + soft, dx) * smoothstep(joint_y, joint_y + soft, dy);
}

Texel blocks(float u, float v, int columns, int rows, float shift, float joint, uint32_t seed) {
  const Cell cell = cell_at(u, v, columns, rows, shift);
  const float aspect = static_cast<float>(rows) / static_cast<float>(columns);
  const float body = inside(cell, joint / aspect, joint, 0.06f);
  const float tone = hash_unit(cell.column, cell.row, seed);
  return {0.5f * tone, 1 - body, 0.92f + 0.16f * tiling_fractal(u, v, 6, 2, seed)};
}

// Distances to the nearest and second nearest of jittered points, one point per cell.
std::array<float, 3> cells(float u, float v, int count, uint32_t seed) {
  const float x = u * static_cast<float>(count), y = v * static_cast<float>(count);
  const int cx = static_cast<int>(std::floor(x)), cy = static_cast<int>(std::floor(y));
  float first = 9, second = 9, tone = 0;
  for (int j = cy - 1; j <= cy + 1; ++j) {
    for (int i = cx - 1; i <= cx + 1; ++i) {
      const int wi = (i + count) % count, wj = (j + count) % count;
      const float px = static_cast<float>(i) + 0.15f + 0.7f * hash_unit(wi, wj, seed) - x;
      const float py = static_cast<float>(j) + 0.15f + 0.7f * hash_unit(wi, wj, seed + 1) - y;
      const float distance = std::sqrt(px * px + py * py);
      if (distance < first) {
        second = first;
        first = distance;
        tone = hash_unit(wi, wj, seed + 2);
      } else {
        second = std::min(second, distance);
      }
    }
  }
  return {first, second, tone};
}

Texel window(float u, float v, int columns, int rows, bool arched, uint32_t seed) {
  const Cell cell = cell_at(u, v, columns, rows);
  const float x = cell.x - 0.5f, y = cell.y - 0.52f;  // v grows upwards
  const float half_width = 0.24f, half_height = arched ? 0.26f : 0.3f;
  const auto box = [&](float grow) {
    float top = half_height + grow;
    if (arched) {
      const float reach = half_width + grow;
      top += 0.5f * std::sqrt(std::max(0.0f, reach * reach - x * x));
    }
    return smoothstep(0.02f, -0.02f, std::abs(x) - half_width - grow) *
           smoothstep(0.02f, -0.02f, y - top) * smoothstep(0.02f, -0.02f, -y - half_height - grow);
  };
  const float frame = box(0.055f), glass = box(0);
  const float bars = std::max(smoothstep(0.035f, 0.02f, std::abs(x)),
                              smoothstep(0.03f, 0.018f, std::abs(y - 0.04f)));
  const float pane = glass * (1 - bars);
  // A sill and the darker wall below it give the facade depth.
  const float sill = smoothstep(0.02f, 0, std::abs(y + half_height + 0.075f) - 0.02f) *
                     smoothstep(0.02f, 0, std::abs(x) - half_width - 0.1f);
  const bool lit = hash_unit(cell.column, cell.row, seed) < 0.55f;
  Texel texel;
  texel.second = std::max(frame - pane, sill);
  texel.third = pane;
  texel.shade = (0.95f + 0.1f * tiling_fractal(u, v, 8, 2, seed)) * (1 + pane * 0.35f * (y + 0.1f));
  texel.glow = lit ? pane * (0.8f + 0.4f * (0.3f - y)) : 0.0f;
  return texel;
}

Texel carpet(float u, float v) {
  const float x = std::abs(u - 0.5f) * 2, y = std::abs(v - 0.5f) * 2;
  const float edge = std::max(x, y), diamond = x + y;
  Texel texel;
  texel.second = smoothstep(0.72f, 0.76f, edge) * smoothstep(0.93f, 0.89f, edge);
  texel.third = std::max(smoothstep(0.62f, 0.58f, diamond) - smoothstep(0.4f, 0.36f, diamond),
                         smoothstep(0.2f, 0.16f, diamond));
  texel.shade = 0.97f;
  return texel;
}

Texel sign(float u, float v) {
  const float x = u - 0.5f, y = v - 0.5f;
  const float radius = std::sqrt(x * x + y * y);
  const float ring = smoothstep(0.03f, 0, std::abs(radius - 0.33f) - 0.05f);
  const float bar = smoothstep(0.03f, 0, std::abs(x - y) - 0.07f) * smoothstep(0.34f, 0.3f, radius);
  const float border = smoothstep(0.43f, 0.46f, std::max(std::abs(x), std::abs(y)));
  return {std::max(ring, border), bar, 1, 0};
}

Texel panel(float u, float v) {
  const Cell cell = cell_at(u, v, 2, 3);
  const float board = inside(cell, 0.14f, 0.1f, 0.05f);
  const float rim = smoothstep(0.47f, 0.49f, std::max(std::abs(u - 0.5f), std::abs(v - 0.5f)));
  return {board, rim, 1, 0};
}

Texel evaluate(Pattern pattern, float u, float v) {
  switch (pattern) {
    case kPlain:
      return {0, 0, 0.97f + 0.06f * tiling_fractal(u, v, 4, 2, 3), 0};
    case kPlaster:
      return {smoothstep(0.5f, 0.75f, tiling_fractal(u, v, 4, 3, 5)) * 0.6f, 0,
              0.92f + 0.16f * tiling_fractal(u, v, 6, 3, 6), 0};
    case kBrick:
      return blocks(u, v, 4, 8, 0.5f, 0.07f, 11);
    case kAshlar:
      return blocks(u, v, 2, 4, 0.5f, 0.045f, 13);
    case kPlanks: {
      const Cell cell = cell_at(u, v, 6, 1);
      const float joint = smoothstep(0.0f, 0.1f, std::min(cell.x, 1 - cell.x));
      return {0.7f * hash_unit(cell.column, 0, 17), 1 - joint,
              0.9f + 0.2f * tiling_noise(u * 24, v * 3, 24, 18), 0};
    }
    case kRoofTiles: {
      const Cell cell = cell_at(u, v, 8, 6, 0.5f);
      const float dx = cell.x - 0.5f;
      const float lip = smoothstep(0.3f, 0.0f, cell.y - 0.25f + 0.9f * (0.25f - dx * dx));
      return {0.6f * hash_unit(cell.column, cell.row, 19), 0.75f * lip, 0.85f + 0.25f * cell.y, 0};
    }
    case kGrass:
      return {smoothstep(0.35f, 0.7f, tiling_fractal(u, v, 5, 3, 23)),
              0.8f * smoothstep(0.62f, 0.78f, tiling_fractal(u, v, 14, 2, 29)),
              0.84f + 0.3f * tiling_fractal(u, v, 10, 3, 31), 0};
    case kCobbles: {
      const auto [first, second, tone] = cells(u, v, 6, 37);
      const float joint = smoothstep(0.16f, 0.02f, second - first);
      return {tone * 0.6f, joint, 1.08f - 0.25f * first, 0};
    }
    case kSand: {
      const float bend = tiling_fractal(u, v, 3, 2, 41);
      const float wave =
          0.5f + 0.5f * static_cast<float>(exact_sin(2 * kPi * (v * 5 + 1.2 * bend)));
      return {0.55f * wave, 0, 0.94f + 0.1f * tiling_fractal(u, v, 8, 2, 43), 0};
    }
    case kLeaves: {
      const auto [first, second, tone] = cells(u, v, 7, 47);
      return {smoothstep(0.3f, 0.9f, tone), 0.75f * smoothstep(0.3f, 0.7f, first),
              1.1f - 0.3f * first, 0};
    }
    case kNeedles: {
      const Cell cell = cell_at(u, v, 8, 5, 0.5f);
      const float dx = std::abs(cell.x - 0.5f) * 2;
      const float tip = smoothstep(0.1f, 0.55f, cell.y + 0.35f * dx);
      return {0.7f * tip, 0.5f * smoothstep(0.3f, 0.0f, cell.y), 0.9f + 0.2f * cell.y, 0};
    }
    case kBark:
      return {smoothstep(0.4f, 0.65f, tiling_noise(u * 10, v * 2, 10, 53)), 0,
              0.85f + 0.3f * tiling_noise(u * 20, v * 4, 20, 59), 0};
    case kFacade:
      return window(u, v, 4, 4, false, 61);
    case kArches:
      return window(u, v, 4, 2, true, 67);
    case kStripes: {
      const Cell cell = cell_at(u, v, 1, 4);
      const float wide = smoothstep(0.0f, 0.06f, cell.y) * smoothstep(0.5f, 0.44f, cell.y);
      return {wide, 0, 0.96f + 0.08f * tiling_fractal(u, v, 6, 2, 71), 0};
    }
    case kChecker: {
      const Cell cell = cell_at(u, v, 4, 4);
      return {(cell.column + cell.row) % 2 ? 1.0f : 0.0f, 0,
              0.96f + 0.08f * tiling_fractal(u, v, 5, 2, 73), 0};
    }
    case kTiles:
      return blocks(u, v, 4, 4, 0, 0.035f, 79);
    case kSnow:
      return {0.6f * smoothstep(0.45f, 0.75f, tiling_fractal(u, v, 3, 3, 83)), 0,
              0.97f + 0.06f * tiling_fractal(u, v, 6, 2, 89), 0};
    case kRock: {
      const float layers =
          tiling_noise(u * 3, v * 9 + 2 * tiling_noise(u * 3, v * 3, 3, 97), 9, 101);
      return {smoothstep(0.3f, 0.7f, layers), 0.6f * smoothstep(0.7f, 0.9f, layers),
              0.85f + 0.3f * tiling_fractal(u, v, 6, 3, 103), 0};
    }
    case kStrata: {
      const float height = v + 0.03f * (tiling_fractal(u, v, 3, 2, 105) - 0.5f);
      const float layer = tiling_noise(0.5f, height * 12, 12, 107);
      return {smoothstep(0.35f, 0.6f, layer), smoothstep(0.68f, 0.8f, layer),
              0.92f + 0.16f * tiling_fractal(u, v, 6, 2, 109), 0};
    }
    case kRipples:
      return {smoothstep(0.45f, 0.8f, tiling_noise(u * 4, v * 8, 8, 113)), 0,
              0.95f + 0.1f * tiling_fractal(u, v, 4, 2, 127), 0};
    case kCarpet:
      return carpet(u, v);
    case kSign:
      return sign(u, v);
    case kPanel:
      return panel(u, v);
    case kLattice: {
      const Cell cell = cell_at(u, v, 5, 1);
      const float slat = smoothstep(0.1f, 0.16f, std::min(cell.x, 1 - cell.x));
      const float rail =
          smoothstep(0.05f, 0.03f, std::min(std::abs(v - 0.25f), std::abs(v - 0.75f)));
      return {0, (1 - slat) * (1 - rail), 0.95f + 0.1f * hash_unit(cell.column, 1, 131), 0};
    }
    case kGlow:
      return {0, 0, 1, 1};
    case kPatternCount:
      break;
  }
  return {};
}

uint32_t pack(const Texel& texel) {
  const auto byte = [](float value) { return static_cast<uint32_t>(clamp01(value) * 255 + 0.5f); };
  return byte(texel.second) | byte(texel.third) << 8 | byte(texel.shade * (128.0f / 255)) << 16 |
         byte(texel.glow) << 24;
}

std::vector<uint32_t> make_texels() {
  std::vector<uint32_t> texels(static_cast<size_t>(kPatternStride) * kPatternCount);
  for (int pattern = 0; pattern < kPatternCount; ++pattern) {
    uint32_t* level = texels.data() + static_cast<size_t>(pattern) * kPatternStride;
    for (int y = 0; y < kPatternSize; ++y) {
      for (int x = 0; x < kPatternSize; ++x) {
        level[y * kPatternSize + x] = pack(evaluate(static_cast<Pattern>(pattern),
                                                    (static_cast<float>(x) + 0.5f) / kPatternSize,
                                                    (static_cast<float>(y) + 0.5f) / kPatternSize));
      }
    }
    for (int size = kPatternSize; size > 1; size /= 2) {
      uint32_t* next = level + size * size;
      for (int y = 0; y < size / 2; ++y) {
        for (int x = 0; x < size / 2; ++x) {
          const uint32_t* from = level + 2 * y * size + 2 * x;
          uint32_t mean = 0;
          for (int shift = 0; shift < 32; shift += 8) {
            const auto channel = [shift](uint32_t texel) { return texel >> shift & 255; };
            const uint32_t sum =
                channel(from[0]) + channel(from[1]) + channel(from[size]) + channel(from[size + 1]);
            mean |= (sum + 2) / 4 << shift;
          }
          next[y * (size / 2) + x] = mean;
        }
      }
      level = next;
    }
  }
  return texels;
}

}  // namespace

const std::vector<uint32_t>& pattern_texels() {
  static const std::vector<uint32_t> texels = make_texels();
  return texels;
}

}  // namespace loci::world
