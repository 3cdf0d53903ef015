// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/builder.h"

#include <array>
#include <vector>

namespace loci::world {

namespace {

constexpr float kLightTexel = 0.6f;  // metres
constexpr int kMaxLightTexels = 40;  // per side
constexpr int kArcSteps = 8;         // sides of a half circle

struct Rotation {
  float cosine, sine;
  explicit Rotation(float degrees)
      : cosine(static_cast<float>(exact_cos(degrees * (kPi / 180)))),
        sine(static_cast<float>(exact_sin(degrees * (kPi / 180)))) {}
  Float3 x() const { return {cosine, 0, -sine}; }
  Float3 z() const { return {sine, 0, cosine}; }
};

int texels(float length) {
  return std::clamp(static_cast<int>(length / kLightTexel + 1.999f), 2, kMaxLightTexels);
}

}  // namespace

int32_t SceneBuilder::material(const Material& material) {
  geometry_.materials.push_back(material);
  return static_cast<int32_t>(geometry_.materials.size()) - 1;
}

Place SceneBuilder::inside(const Place& at, float x, float y, float z, float rotation) {
  const Rotation t(at.rotation);
  return {at.x + t.cosine * x + t.sine * z, at.y + y, at.z - t.sine * x + t.cosine * z,
          at.rotation + rotation};
}

void SceneBuilder::place_light_map(Surface& surface, float low_u, float high_u, float low_v,
                                   float high_v) {
  surface.light_offset = static_cast<int32_t>(geometry_.light.size());
  surface.low_u = low_u;
  surface.low_v = low_v;
  surface.scale_u = static_cast<float>(surface.columns - 1) / std::max(high_u - low_u, 1e-3f);
  surface.scale_v = static_cast<float>(surface.rows - 1) / std::max(high_v - low_v, 1e-3f);
  geometry_.light.resize(geometry_.light.size() +
                         static_cast<size_t>(surface.columns * surface.rows));
}

void SceneBuilder::planar(const Float3& centre, const Float3& axis_u, const Float3& axis_v,
                          float half_u, float half_v, int32_t material) {
  Surface surface;
  surface.material = material;
  surface.axis_u = axis_u;
  surface.axis_v = axis_v;
  surface.normal = cross(axis_u, axis_v);
  surface.offset = dot(surface.normal, centre);
  surface.u0 = half_u - dot(axis_u, centre);  // u runs from 0 to 2 half_u
  surface.v0 = half_v - dot(axis_v, centre);
  surface.shift_u = -half_u;  // patterns are centred horizontally and start at the lower edge
  surface.columns = texels(2 * half_u);
  surface.rows = texels(2 * half_v);
  place_light_map(surface, 0, 2 * half_u, 0, 2 * half_v);
  geometry_.surfaces.push_back(surface);
}

void SceneBuilder::angular(const Place& at, float low, float high, float radius, int32_t material) {
  Surface surface;
  surface.mapping = Mapping::kAngular;
  surface.material = material;
  surface.u0 = at.x;
  surface.v0 = at.z;
  const float around = static_cast<float>(2 * kPi);
  const Material& look = geometry_.materials[static_cast<size_t>(material)];
  // A whole number of repetitions around avoids a visible seam.
  const float repeats = std::max(1.0f, std::floor(around * radius / look.tile + 0.5f));
  surface.radius = repeats * look.tile / around;
  surface.shift_v = -low;
  surface.columns = std::clamp(texels(around * radius), 9, 25);
  surface.rows = texels(high - low);
  const float half = around * surface.radius * 0.5f;
  place_light_map(surface, -half, half, low, high);
  geometry_.surfaces.push_back(surface);
}

void SceneBuilder::box(const Place& at, float width, float height, float depth, Faces faces) {
  const Rotation rotation(at.rotation);
  Solid solid;
  solid.shape = Shape::kBox;
  solid.first_surface = static_cast<int32_t>(geometry_.surfaces.size());
  solid.centre = {at.x, at.y + height * 0.5f, at.z};
  solid.size = {width * 0.5f, height * 0.5f, depth * 0.5f};
  solid.cosine = rotation.cosine;
  solid.sine = rotation.sine;
  geometry_.solids.push_back(solid);
  const Float3 x = rotation.x(), y{0, 1, 0}, z = rotation.z(), c = solid.centre, h = solid.size;
  planar(c - x * h.x, z, y, h.z, h.y, faces.side);
  planar(c + x * h.x, -z, y, h.z, h.y, faces.side);
  planar(c - y * h.y, x, z, h.x, h.z, faces.bottom);
  planar(c + y * h.y, z, x, h.z, h.x, faces.top);
  planar(c - z * h.z, -x, y, h.x, h.y, faces.side);
  planar(c + z * h.z, x, y, h.x, h.y, faces.side);
}

void SceneBuilder::frustum(const Place& at, float bottom_radius, float top_radius, float height,
                           Faces faces) {
  Solid solid;
  solid.shape = Shape::kFrustum;
  solid.first_surface = static_cast<int32_t>(geometry_.surfaces.size());
  solid.centre = {at.x, at.y, at.z};
  solid.size = {bottom_radius, height, top_radius};
  geometry_.solids.push_back(solid);
  const float mean = 0.5f * (bottom_radius + top_radius);
  angular(at, at.y, at.y + height, mean, faces.side);
  const float top = std::max(top_radius, 0.01f);
  const Float3 x{1, 0, 0}, z{0, 0, 1};
  planar({at.x, at.y + height, at.z}, z, x, top, top, faces.top);
  planar({at.x, at.y, at.z}, x, z, bottom_radius, bottom_radius, faces.bottom);
}

void SceneBuilder::ellipsoid(const Place& at, float radius_x, float radius_y, float radius_z,
                             int32_t material) {
  const Rotation rotation(at.rotation);
  Solid solid;
  solid.shape = Shape::kEllipsoid;
  solid.first_surface = static_cast<int32_t>(geometry_.surfaces.size());
  solid.centre = {at.x, at.y + radius_y, at.z};
  solid.size = {radius_x, radius_y, radius_z};
  solid.cosine = rotation.cosine;
  solid.sine = rotation.sine;
  geometry_.solids.push_back(solid);
  angular(at, at.y, at.y + 2 * radius_y, 0.5f * (radius_x + radius_z), material);
}

void SceneBuilder::hull(std::span<const Plane> planes, const Place& at) {
  Solid solid;
  solid.shape = Shape::kHull;
  solid.first_surface = static_cast<int32_t>(geometry_.surfaces.size());
  solid.centre = {at.x, at.y, at.z};
  solid.first_plane = static_cast<int32_t>(geometry_.planes.size());
  solid.planes = static_cast<int32_t>(planes.size());
  geometry_.solids.push_back(solid);
  geometry_.planes.insert(geometry_.planes.end(), planes.begin(), planes.end());
}

void SceneBuilder::gable(const Place& at, float width, float height, float depth, float overhang,
                         int32_t roof, int32_t gable) {
  const Rotation rotation(at.rotation);
  const Float3 x = rotation.x(), y{0, 1, 0}, z = rotation.z(), base{at.x, at.y, at.z};
  const float half_width = width * 0.5f + overhang, half_depth = depth * 0.5f + overhang;
  const float slant = std::sqrt(height * height + half_width * half_width);
  const Float3 left = x * (-height / slant) + y * (half_width / slant);
  const Float3 right = x * (height / slant) + y * (half_width / slant);
  const Float3 ridge = base + y * height;
  const std::array<Plane, 5> planes = {{{left, dot(left, ridge)},
                                        {right, dot(right, ridge)},
                                        {-z, dot(-z, base) + half_depth},
                                        {z, dot(z, base) + half_depth},
                                        {-y, dot(-y, base)}}};
  hull(planes, at);
  const Float3 up_left = x * (half_width / slant) + y * (height / slant);
  const Float3 up_right = x * (-half_width / slant) + y * (height / slant);
  const Float3 middle = base + y * (height * 0.5f);
  planar(middle - x * (half_width * 0.5f), z, up_left, half_depth, slant * 0.5f, roof);
  planar(middle + x * (half_width * 0.5f), -z, up_right, half_depth, slant * 0.5f, roof);
  planar(middle - z * half_depth, -x, y, half_width, height * 0.5f, gable);
  planar(middle + z * half_depth, x, y, half_width, height * 0.5f, gable);
  planar(base, x, z, half_width, half_depth, gable);
}

void SceneBuilder::pyramid(const Place& at, float width, float height, float depth, float top,
                           int32_t material) {
  const Rotation rotation(at.rotation);
  const Float3 x = rotation.x(), y{0, 1, 0}, z = rotation.z(), base{at.x, at.y, at.z};
  const Float3 sides[4] = {-x, x, -z, z};
  const Float3 alongs[4] = {z, -z, -x, x};
  const float halves[4] = {width * 0.5f, width * 0.5f, depth * 0.5f, depth * 0.5f};
  const float lengths[4] = {depth * 0.5f, depth * 0.5f, width * 0.5f, width * 0.5f};
  std::array<Plane, 6> planes;
  for (int i = 0; i < 4; ++i) {
    const float run = halves[i] * (1 - top), slant = std::sqrt(run * run + height * height);
    const Float3 normal = sides[i] * (height / slant) + y * (run / slant);
    planes[i] = {normal, dot(normal, base + sides[i] * halves[i])};
  }
  planes[4] = {y, dot(y, base) + height};
  planes[5] = {-y, dot(-y, base)};
  hull(planes, at);
  for (int i = 0; i < 4; ++i) {
    const float run = halves[i] * (1 - top), slant = std::sqrt(run * run + height * height);
    const Float3 up = sides[i] * (-run / slant) + y * (height / slant);
    planar(base + sides[i] * (halves[i] - run * 0.5f) + y * (height * 0.5f), alongs[i], up,
           lengths[i], slant * 0.5f, material);
  }
  planar(base + y * height, z, x, std::max(depth * 0.5f * top, 0.01f),
         std::max(width * 0.5f * top, 0.01f), material);
  planar(base, x, z, width * 0.5f, depth * 0.5f, material);
}

void SceneBuilder::prism(const Place& at, std::span<const Corner> outline, float depth,
                         int32_t material) {
  const Rotation rotation(at.rotation);
  const Float3 x = rotation.x(), y{0, 1, 0}, z = rotation.z(), base{at.x, at.y, at.z};
  const size_t count = outline.size();
  const float half_depth = 0.5f * depth;
  std::vector<Plane> planes = {{-z, dot(-z, base) + half_depth}, {z, dot(z, base) + half_depth}};
  Corner low = outline[0], high = outline[0];
  for (size_t i = 0; i < count; ++i) {
    const Corner &a = outline[i], &b = outline[(i + 1) % count];
    low = {std::min(low.x, a.x), std::min(low.y, a.y)};
    high = {std::max(high.x, a.x), std::max(high.y, a.y)};
    const float length = std::sqrt((b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y));
    const Float3 normal = x * ((b.y - a.y) / length) + y * ((a.x - b.x) / length);
    planes.push_back({normal, dot(normal, base + x * a.x + y * a.y)});
  }
  hull(planes, at);
  const float half_x = 0.5f * (high.x - low.x), half_y = 0.5f * (high.y - low.y);
  const Float3 middle = base + x * (low.x + half_x) + y * (low.y + half_y);
  planar(middle - z * half_depth, -x, y, half_x, half_y, material);
  planar(middle + z * half_depth, x, y, half_x, half_y, material);
  for (size_t i = 0; i < count; ++i) {
    const Corner &a = outline[i], &b = outline[(i + 1) % count];
    const float length = std::sqrt((b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y));
    const Float3 along = x * ((b.x - a.x) / length) + y * ((b.y - a.y) / length);
    planar(base + x * (0.5f * (a.x + b.x)) + y * (0.5f * (a.y + b.y)), z, along, half_depth,
           0.5f * length, material);
  }
}

void SceneBuilder::arch(const Place& at, float width, float height, float depth, int32_t material) {
  const float radius = 0.5f * width;
  std::array<Corner, kArcSteps + 3> outline;
  outline[0] = {-radius, 0};
  outline[1] = {radius, 0};
  for (int i = 0; i <= kArcSteps; ++i) {
    const double angle = kPi * i / kArcSteps;
    outline[static_cast<size_t>(i) + 2] = {
        radius * static_cast<float>(exact_cos(angle)),
        height - radius + radius * static_cast<float>(exact_sin(angle))};
  }
  prism(at, outline, depth, material);
}

void SceneBuilder::disc(const Place& at, float radius, float depth, int32_t material) {
  std::array<Corner, 2 * kArcSteps> outline;
  for (int i = 0; i < 2 * kArcSteps; ++i) {
    const double angle = kPi * i / kArcSteps;
    outline[static_cast<size_t>(i)] = {radius * static_cast<float>(exact_cos(angle)),
                                       radius + radius * static_cast<float>(exact_sin(angle))};
  }
  prism(at, outline, depth, material);
}

void SceneBuilder::lamp(const Float3& position, const Float3& colour, float reach, float falloff) {
  geometry_.lamps.push_back({position, colour, reach, falloff});
}

}  // namespace loci::world
