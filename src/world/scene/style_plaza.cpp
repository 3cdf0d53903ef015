// SPDX-License-Identifier: Apache-2.0
// A plaza: a small closed square between rows of houses on a clear day. A short tour shows all of
// it: nothing leads out of the square, and only its landmarks hide something. The style is made for
// small models; see plaza_parts.h.
#include <array>
#include <vector>

#include <fmt/format.h>

#include "loci/world/scene/patterns.h"
#include "loci/world/scene/plaza_parts.h"
#include "loci/world/scene/styles.h"

namespace loci::world {

namespace plaza {

namespace {

constexpr float kFreeRadius = 4.2f;  // around the centre: only the landmark in the middle is here
constexpr float kTourRadius = 3.1f;
constexpr float kCorner = 3.6f;      // continuation of rows behind the corners

// Landmarks in a row of houses.
enum class Landmark { kGate, kBell, kClock, kChapel, kArcade, kGarden, kCount };

// Values in random order. When all have been taken, they start again.
template <typename T>
class Deck {
 public:
  template <typename List>
  Deck(Draft& draft, const List& list) : draft_(draft), all_(std::begin(list), std::end(list)) {}

  T take() {
    if (left_.empty()) left_ = all_;
    const size_t index = draft_.random.below(left_.size());
    const T taken = left_[index];
    left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(index));
    return taken;
  }

 private:
  Draft& draft_;
  std::vector<T> all_, left_;
};

class Plaza {
 public:
  explicit Plaza(Draft& draft)
      : d(draft),
        half_x_(d.uniform(6.2, 7.8)),
        half_z_(d.uniform(6.2, 7.8)),
        walls_(d, kWalls),
        accents_(d, kAccents),
        leaves_(d, kLeaves),
        roof_(d.pick(std::to_array<uint32_t>({kRoof, 0x587d9c, 0xc98a3a}))) {
    // Four of the wall colours, so that every place has its own scheme.
    for (uint32_t& wall : scheme_) wall = walls_.take().rgb;
  }

  void build() {
    paint();
    centre();
    rows();
    corners();
    sides();
    // Nearer to the walls, a picture shows little but a wall.
    d.trajectory_radius = std::min(half_x_, half_z_) - 1.3f;
    d.tour_radius = kTourRadius;
    for (int side = 0; side < 4; ++side) {
      const float out = half_of(side + 1), along = half_of(side);
      d.viewpoints.push_back(quarter_turned(side, 0, out - 2.2f, 180));
      d.viewpoints.push_back(quarter_turned(side, 0.5f * along, 0.5f * out, 225));
      d.viewpoints.push_back(quarter_turned(side, 2.6f, 2.6f, 250));
    }
  }

 private:
  // Half of the length of a side; side 0 is at +z and extends along x.
  float half_of(int side) const { return side % 2 == 0 ? half_x_ : half_z_; }
  uint32_t next_wall() { return scheme_[house_++ % scheme_.size()]; }

  void paint() {
    constexpr std::array<std::array<uint32_t, 2>, 5> kGrounds = {{{0xe6cb9c, 0xf3e3c2},
                                                                   {0xd9a17c, 0xf0d9b4},
                                                                   {0xc9bfd0, 0xece4dc},
                                                                   {0xb7c98a, 0xeedcb2},
                                                                   {0xe9d7b0, 0xcf8e6c}}};
    const auto& [first, second] = d.pick(kGrounds);
    const Float3 base = colour(first), line = colour(second);
    d.ground.base = d.ground.second = base;
    d.ground.extent = 13;
    d.geometry.meadow = d.geometry.path = {kPlain, 16, {}, {}, {}};
    const auto rectangle = [&](float x0, float z0, float x1, float z1, const Float3& tint) {
      d.ground.strokes.push_back({x0, z0, x1, z1, -1, tint, 0, 0.05f});
    };
    const auto round = [&](float radius, const Float3& tint) {
      d.ground.strokes.push_back({0, 0, 0, 0, radius, tint, 0, 0.05f});
    };
    switch (d.random.below(4)) {
      case 0:  // a border along the houses
        rectangle(-half_x_, -half_z_, half_x_, half_z_, line);
        rectangle(1.3f - half_x_, 1.3f - half_z_, half_x_ - 1.3f, half_z_ - 1.3f, base);
        round(2.5f, line);
        break;
      case 1:  // two crossing paths
        rectangle(-1.1f, -half_z_, 1.1f, half_z_, line);
        rectangle(-half_x_, -1.1f, half_x_, 1.1f, line);
        round(2.9f, line);
        break;
      case 2:  // rings
        round(5.4f, line);
        round(4.2f, base);
        round(2.6f, line);
        break;
      default:  // four fields
        rectangle(-half_x_, -half_z_, 0, 0, line);
        rectangle(0, 0, half_x_, half_z_, line);
        round(2.4f, base);
        break;
    }
  }

  void centre() {
    const NamedColour accent = accents_.take();
    switch (d.random.below(6)) {
      case 0:
        add_basin_fountain(d, {}, accent.rgb);
        d.feature(fmt::format("a {} fountain", accent.name));
        break;
      case 1: {
        const NamedColour leaf = leaves_.take();
        add_planted_tree(d, {}, 1.1f, leaf.rgb, accent.rgb);
        d.feature(fmt::format("a big {} tree", leaf.name));
        break;
      }
      case 2:
        add_well(d, {0, 0, 0, d.uniform(0, 180)}, kStone, accent.rgb);
        d.feature(fmt::format("a {} well", accent.name));
        break;
      case 3:
        add_needle(d, {}, accent.rgb);
        d.feature(fmt::format("a {} obelisk", accent.name));
        break;
      case 4:
        add_sculpture(d, {}, accent.rgb);
        d.feature(fmt::format("a {} sculpture", accent.name));
        break;
      default:
        // An open middle with a mosaic.
        for (const auto& [radius, tint] : {std::pair{2.0f, accent.rgb}, {1.5f, kTrim},
                                           {0.9f, accent.rgb}}) {
          d.ground.strokes.push_back({0, 0, 0, 0, radius, colour(tint), 0, 0.05f});
        }
        d.feature(fmt::format("a {} mosaic", accent.name));
        break;
    }
    d.reserve(0, 0, kFreeRadius);
  }

  // Two or three sides have a landmark, the others only houses.
  void rows() {
    std::array<int, static_cast<size_t>(Landmark::kCount)> kinds;
    for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<int>(i);
    Deck<int> landmarks(d, kinds), order(d, std::array{0, 1, 2, 3});
    const int count = 2 + static_cast<int>(d.random.below(2));
    for (int i = 0; i < 4; ++i) {
      const int side = order.take();
      if (i < count) {
        row_with(side, static_cast<Landmark>(landmarks.take()));
      } else {
        houses(side, -half_of(side), half_of(side));
      }
    }
  }

  Place front(int side, float x) const { return quarter_turned(side, x, half_of(side + 1), 0); }

  void row_with(int side, Landmark kind) {
    const float half = half_of(side);
    float width = 3.4f;
    if (kind == Landmark::kBell) width = 2.7f;
    if (kind == Landmark::kClock || kind == Landmark::kChapel) width = 4.8f;
    if (kind == Landmark::kArcade || kind == Landmark::kGarden) width = d.uniform(5.2, 6.6);
    const float spare = half - 0.5f * width - 2.9f;  // both rests are at least this wide
    const float x = d.uniform(-spare, spare);
    const Place at = front(side, x);
    const uint32_t wall = kind == Landmark::kGate || kind == Landmark::kGarden ? kStone
                                                                               : next_wall();
    const NamedColour accent = accents_.take();
    switch (kind) {
      case Landmark::kGate:
        add_gate_tower(d, at, width, wall, accent.rgb);
        d.feature(fmt::format("a {} gate tower", accent.name));
        break;
      case Landmark::kBell:
        add_bell_tower(d, at, width, wall, accent.rgb);
        d.feature(fmt::format("a {} bell tower", accent.name));
        break;
      case Landmark::kClock:
        add_clock_house(d, at, width, wall, accent.rgb);
        d.feature(fmt::format("a {} clock house", accent.name));
        break;
      case Landmark::kChapel:
        add_chapel(d, at, width, wall, accent.rgb);
        d.feature(fmt::format("a {} dome", accent.name));
        break;
      case Landmark::kArcade:
        add_arcade(d, at, width, wall, accent.rgb);
        d.feature(fmt::format("{} arches", accent.name));
        break;
      default: {
        const bool cypresses = d.random.chance(0.5);
        const NamedColour leaf = cypresses ? NamedColour{"", kHedge} : leaves_.take();
        add_garden_wall(d, at, width, wall, leaf.rgb);
        d.feature(cypresses ? "cypresses behind a wall"
                            : fmt::format("{} trees behind a wall", leaf.name));
        break;
      }
    }
    const Place mark = quarter_turned(side, x, half_of(side + 1) - 0.6f, 0);
    d.reserve(mark.x, mark.z, 0.5f * width);
    houses(side, -half, x - 0.5f * width);
    houses(side, x + 0.5f * width, half);
  }

  // Fills the row of a side from x0 to x1 with houses.
  void houses(int side, float x0, float x1) {
    const float half = half_of(side), length = x1 - x0;
    const int count = std::max(1, static_cast<int>(length / 3.9f + 0.5f));
    std::vector<float> widths;
    float sum = 0;
    for (int i = 0; i < count; ++i) {
      widths.push_back(d.uniform(0.8, 1.25));
      sum += widths.back();
    }
    float x = x0;
    for (int i = 0; i < count; ++i) {
      House house;
      house.width = widths[static_cast<size_t>(i)] * length / sum;
      house.height = d.random.chance(0.5) ? d.uniform(3.0, 3.5) : d.uniform(4.8, 5.3);
      house.wall = next_wall();
      house.roof = roof_;
      house.door = d.pick(kAccents).rgb;
      if (house.door == kAccents.back().rgb) house.door = kWood;
      const double shape = d.random.uniform();
      house.shape = shape < 0.4    ? Roof::kEaves
                    : shape < 0.65 ? Roof::kGable
                    : shape < 0.85 ? Roof::kHip
                                   : Roof::kFlat;
      house.arched = d.random.chance(0.4);
      house.shutters = !house.arched && d.random.chance(0.5);
      if (side % 2 == 0 && x0 <= -half && i == 0) house.left = kCorner;
      if (side % 2 == 0 && x1 >= half && i == count - 1) house.right = kCorner;
      if (house.left + house.right > 0) house.shape = Roof::kEaves;
      add_row_house(d, front(side, x + 0.5f * house.width), house);
      x += house.width;
    }
  }

  void corners() {
    if (!d.random.chance(0.5)) return;
    const int corner = static_cast<int>(d.random.below(4));
    const NamedColour accent = accents_.take();
    const float along = half_of(corner), out = half_of(corner + 1);
    const Place at = quarter_turned(corner, along - 0.5f, out - 0.5f, 45);
    add_round_tower(d, at, d.uniform(5.6, 6.6), next_wall(), accent.rgb);
    d.reserve(at.x, at.z, 1.8f);
    d.feature(fmt::format("a {} round tower", accent.name));
  }

  // Objects along the houses.
  void sides() {
    int trees = 0, stalls = 0;
    const int wanted = 4 + static_cast<int>(d.random.below(3));
    int placed = 0;
    for (int attempt = 0; attempt < 40 && placed < wanted; ++attempt) {
      const int side = static_cast<int>(d.random.below(4));
      const float half = half_of(side), out = half_of(side + 1);
      const double kind = d.random.uniform();
      const bool in_corner = kind < 0.3;
      const float x = in_corner ? (d.random.chance(0.5) ? 1.0f : -1.0f) * (half - 1.5f)
                                : d.uniform(-half + 2, half - 2);
      const float inwards = in_corner ? 1.5f : kind < 0.55 ? 0.9f : 0.75f;
      const Place at = quarter_turned(side, x, out - inwards, 0);
      if (!d.claim(at.x, at.z, in_corner ? 1.2f : kind < 0.8 ? 1.3f : 0.8f)) continue;
      ++placed;
      if (in_corner && trees < 2) {
        const NamedColour leaf = leaves_.take();
        add_planted_tree(d, at, d.uniform(0.95, 1.15), leaf.rgb, kTrim);
        if (trees++ == 0) d.feature(fmt::format("a {} tree in a corner", leaf.name));
      } else if (kind < 0.55 && stalls < 2) {
        const NamedColour cloth = accents_.take();
        add_awning_stall(d, at, cloth.name == "white" ? kRoof : cloth.rgb);
        if (stalls++ == 0)
          d.feature(fmt::format("a {} market stall", cloth.name == "white" ? "red" : cloth.name));
      } else if (kind < 0.7) {
        add_block_bench(d, at, d.pick(kAccents).rgb);
      } else if (kind < 0.8) {
        add_crates(d, at, d.pick(kAccents).rgb);
      } else if (kind < 0.9) {
        add_cypress(d, at, d.uniform(2.6, 3.4), kHedge);
      } else {
        add_pot(d, at, 0xc4623f, d.pick(kLeaves).rgb);
      }
    }
  }

  Draft& d;
  float half_x_, half_z_;
  Deck<NamedColour> walls_, accents_, leaves_;
  uint32_t roof_;
  std::array<uint32_t, 4> scheme_;
  size_t house_ = 0;
};

}  // namespace

}  // namespace plaza

void build_plaza(Draft& draft) { plaza::Plaza(draft).build(); }

}  // namespace loci::world
