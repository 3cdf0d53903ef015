// SPDX-License-Identifier: Apache-2.0
// Camera paths as numpy arrays: LingBot-World's and SANA-WM's poses.npy with intrinsics.npy, and
// the .npz archives of SANA-WM-Bench and Matrix-Game. All are camera-to-world in OpenCV axes, with
// lenses in pixels.
#include <array>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/camera/formats/format.h"
#include "loci/io/tensors/npy.h"
#include "loci/io/tensors/zip.h"

namespace loci::camera {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::string_view kZipMagic = "PK\x03\x04";

at::Tensor as_doubles(const at::Tensor& tensor, std::string_view name) {
  if (tensor.is_complex() || tensor.scalar_type() == at::kBool) {
    fail("{}: an array of {}; expected real numbers", name, toString(tensor.scalar_type()));
  }
  return tensor.to(at::kDouble).contiguous();
}

std::string shape_of(const at::Tensor& tensor) {
  return fmt::format("({})", fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "));
}

// [F, 4, 4] or [F, 3, 4]; a single matrix is one pose.
std::vector<Pose> checked_poses(const at::Tensor& array, const std::string& name, bool invert) {
  at::Tensor poses = as_doubles(array, name);
  if (poses.dim() == 2) poses = poses.unsqueeze(0);
  if (poses.dim() != 3 || (poses.size(1) != 3 && poses.size(1) != 4) || poses.size(2) != 4) {
    fail("{}: an array of shape {}; expected poses (frames, 4, 4) or (frames, 3, 4)", name,
         shape_of(array));
  }
  const auto entries = static_cast<size_t>(poses.size(1) * 4);
  std::vector<Pose> path;
  for (int64_t i = 0; i < poses.size(0); ++i) {
    const std::span values(poses.const_data_ptr<double>() + i * static_cast<int64_t>(entries),
                           entries);
    const Pose pose = pose_from_matrix(values, {name, "pose", i});
    path.push_back(invert ? pose.inverse() : pose);
  }
  return path;
}

// Arrays (4) and (F, 4) contain fx fy cx cy; (3, 3) and (F, 3, 3) contain matrices. A single lens
// applies to all frames.
std::vector<Pinhole> pinholes_of(const at::Tensor& array, const std::string& name, size_t frames) {
  at::Tensor k = as_doubles(array, name);
  const bool matrices = k.dim() >= 2 && k.size(-1) == 3 && k.size(-2) == 3;
  if (k.dim() == (matrices ? 2 : 1)) k = k.unsqueeze(0);
  const bool known = matrices ? k.dim() == 3 : k.dim() == 2 && k.size(1) == 4;
  if (!known) {
    fail("{}: an array of shape {}; expected lenses (frames, 4), (4), (frames, 3, 3) or (3, 3)",
         name, shape_of(array));
  }
  if (k.size(0) != 1 && k.size(0) != static_cast<int64_t>(frames)) {
    fail("{}: {} lenses for {} poses", name, k.size(0), frames);
  }
  std::vector<Pinhole> lenses;
  const int64_t stride = matrices ? 9 : 4;
  for (int64_t i = 0; i < static_cast<int64_t>(frames); ++i) {
    const double* v = k.const_data_ptr<double>() + (k.size(0) == 1 ? 0 : i) * stride;
    lenses.push_back(matrices ? Pinhole{v[0], v[4], v[2], v[5]} : Pinhole{v[0], v[1], v[2], v[3]});
  }
  return lenses;
}

// Sets the lens of every camera of `path`.
void set_lenses(Trajectory& path, const std::vector<Pinhole>& pixels, const std::string& name) {
  // No lens in pixels has such short focal lengths: matrices with shorter ones are normalised by
  // the image size and do not imply it.
  constexpr double kShortest = 10;
  std::array<double, 2> extent{double(path.width), double(path.height)};
  for (size_t i = 0; i < pixels.size(); ++i) {
    const Where where{name, "lens", static_cast<int64_t>(i)};
    if (pixels[i][0] < kShortest && pixels[i][1] < kShortest) {
      path.cameras[i].lens = lens_from_normalised(pixels[i], where);
      continue;
    }
    if (!(extent[0] > 0)) extent = implied_extent(pixels[i], where);
    path.cameras[i].lens = lens_from_pixels(pixels[i], extent, where);
  }
  path.width = static_cast<int>(std::lround(extent[0]));
  path.height = static_cast<int>(std::lround(extent[1]));
}

// "poses.npy" → "intrinsics.npy", "a_pose.npy" → "a_intrinsics.npy".
fs::path lens_file_of(const fs::path& poses) {
  std::string name = poses.filename().string();
  for (const std::string_view word : {"poses", "pose"}) {
    const size_t at = name.rfind(word);
    if (at == std::string::npos) continue;
    name.replace(at, word.size(), "intrinsics");
    return poses.parent_path() / name;
  }
  return poses.parent_path() / "intrinsics.npy";
}

bool recognises_npy(const Source& source) {
  return source.is_folder() ? source.inside("poses.npy").has_value()
                            : source.head().starts_with(kNpyMagic);
}

Trajectory read_npy_path(const Source& source, const ReadOptions& options) {
  const fs::path file = source.is_folder() ? source.path() / "poses.npy" : source.path();
  Trajectory path = empty_path(kNumpyPoses, options);
  path.cameras =
      with_lens(checked_poses(io::read_npy(file), file.string(), options.world_to_camera),
                lens_from_fov(options.fov_x));
  const fs::path lenses = options.intrinsics.value_or(lens_file_of(file));
  if (options.intrinsics || (lenses != file && fs::exists(lenses))) {
    set_lenses(path, pinholes_of(io::read_npy(lenses), lenses.string(), path.cameras.size()),
               lenses.string());
  }
  return path;
}

// [F, 4, 4]
at::Tensor pose_array(const Trajectory& path) {
  at::Tensor array = at::zeros({static_cast<int64_t>(path.cameras.size()), 4, 4}, at::kDouble);
  double* out = array.mutable_data_ptr<double>();
  for (const auto& [pose, lens] : path.cameras) {
    const double position[] = {pose.position.x, pose.position.y, pose.position.z};
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) out[4 * r + c] = pose.rotation(r, c);
      out[4 * r + 3] = position[r];
    }
    out[15] = 1;
    out += 16;
  }
  return array;
}

// [F, 4], or [F, 3, 3] as matrices
at::Tensor lens_array(const Trajectory& path, bool matrices) {
  const auto frames = static_cast<int64_t>(path.cameras.size());
  at::Tensor array =
      matrices ? at::zeros({frames, 3, 3}, at::kDouble) : at::zeros({frames, 4}, at::kDouble);
  double* out = array.mutable_data_ptr<double>();
  for (const auto& [pose, lens] : path.cameras) {
    const Pinhole p = pixel_pinhole(lens, image_size(path), "numpy");
    if (matrices) {
      const std::array<double, 9> k{p[0], 0, p[2], 0, p[1], p[3], 0, 0, 1};
      out = std::copy(k.begin(), k.end(), out);
    } else {
      out = std::copy(p.begin(), p.end(), out);
    }
  }
  return array;
}

void write_npy_path(const fs::path& target, const Trajectory& path, const WriteOptions&) {
  const at::Tensor lenses = lens_array(path, false);
  fs::path file = target;
  if (target.extension() != ".npy") {
    make_folder(target);
    file = target / "poses.npy";
  }
  io::write_npy(lens_file_of(file), lenses);
  io::write_npy(file, pose_array(path));
}

bool archive_has(const Source& source, std::string_view entry) {
  return source.head().starts_with(kZipMagic) &&
         io::ZipArchive::open(source.path()).find(entry) != nullptr;
}

bool recognises_sana(const Source& source) { return archive_has(source, "c2w.npy"); }

bool recognises_matrix_game(const Source& source) {
  return archive_has(source, "extrinsics_c2w.npy");
}

double scalar_of(const at::Tensor& array, const std::string& name) {
  if (array.numel() != 1) fail("{}: {} values; expected one number", name, array.numel());
  return as_doubles(array, name).item<double>();
}

Trajectory read_archive(const Source& source, const ReadOptions& options, const Format& format,
                        const char* key) {
  const std::map<std::string, at::Tensor> arrays = io::read_npz(source.path());
  const auto name = [&](const char* array) { return fmt::format("{}: {}", source.name(), array); };
  const auto poses = arrays.find(key);
  if (poses == arrays.end()) fail("{}: the archive has no array '{}'", source.name(), key);
  Trajectory path = empty_path(format, options);
  path.cameras = with_lens(checked_poses(poses->second, name(key), options.world_to_camera),
                           lens_from_fov(options.fov_x));
  if (const auto fps = arrays.find("fps"); fps != arrays.end()) {
    path.fps = scalar_of(fps->second, name("fps"));
  }
  if (const auto count = arrays.find("num_frames"); count != arrays.end()) {
    const double frames = scalar_of(count->second, name("num_frames"));
    if (frames != static_cast<double>(path.cameras.size())) {
      fail("{}: num_frames is {}, but there are {} poses", source.name(), frames,
           path.cameras.size());
    }
  }
  if (const auto lenses = arrays.find("intrinsics"); lenses != arrays.end()) {
    set_lenses(path, pinholes_of(lenses->second, name("intrinsics"), path.cameras.size()),
               name("intrinsics"));
  }
  return path;
}

Trajectory read_sana(const Source& source, const ReadOptions& options) {
  return read_archive(source, options, kSanaNpz, "c2w");
}

Trajectory read_matrix_game(const Source& source, const ReadOptions& options) {
  return read_archive(source, options, kMatrixGameNpz, "extrinsics_c2w");
}

void write_sana(const fs::path& file, const Trajectory& path, const WriteOptions&) {
  io::write_npz(file, {{"c2w", pose_array(path)},
                       {"intrinsics", lens_array(path, true)},
                       {"fps", at::scalar_tensor(path.fps, at::kDouble)},
                       {"num_frames",
                        at::scalar_tensor(static_cast<int64_t>(path.cameras.size()), at::kLong)}});
}

void write_matrix_game(const fs::path& file, const Trajectory& path, const WriteOptions&) {
  io::write_npz(file,
                {{"extrinsics_c2w", pose_array(path)}, {"intrinsics", lens_array(path, false)}});
}

}  // namespace

const Format kNumpyPoses{
    "npy", "LingBot/SANA poses.npy", 16, false, recognises_npy, read_npy_path, write_npy_path};
const Format kSanaNpz{"sana",    "SANA-WM-Bench .npz", 16, false, recognises_sana, read_sana,
                      write_sana};
const Format kMatrixGameNpz{"matrix-game",    "Matrix-Game .npz", 16, false, recognises_matrix_game,
                            read_matrix_game, write_matrix_game};

}  // namespace loci::camera
