// SPDX-License-Identifier: Apache-2.0
// Camera paths in all formats.
#include "loci/base/error.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/camera/statistics.h"

#include "fuzz/target.h"

namespace loci::fuzz {

namespace {

// Operations on an accepted path must not fail.
void use(const camera::Trajectory& trajectory) {
  constexpr size_t kMost = 4096;
  for (const auto& [pose, lens] : trajectory.cameras) {
    for (const double number : pose.rotation.m) {
      LOCI_CHECK(std::isfinite(number), "a rotation contains {}", number);
    }
    LOCI_CHECK(std::isfinite(camera::norm(pose.position)), "a position is not finite");
  }
  for (const auto& [pose, lens] : trajectory.cameras) {
    LOCI_CHECK(std::isfinite(lens.fov_x) && lens.fov_x > 0, "the field of view is {}", lens.fov_x);
  }
  if (trajectory.cameras.size() > kMost) return;
  camera::to_json(camera::path_statistics(trajectory)).dump();
  camera::pad_to_chunks(camera::latent_poses(trajectory));
}

camera::ReadOptions options_of(size_t choice) {
  camera::ReadOptions options;
  if (choice == 1) options.world_to_camera = options.actor = true;
  if (choice == 2) options.size = {64, 48};
  return options;
}

}  // namespace

// The first byte selects a format or automatic detection, the second byte options.
LOCI_FUZZ_TARGET(camera) {
  const size_t choice = take_choice(bytes, camera::formats().size() + 1);
  const camera::ReadOptions options = options_of(take_choice(bytes, 3));
  const camera::Format* format = choice == 0 ? nullptr : camera::formats()[choice - 1];
  use(camera::load_trajectory(scratch_file("file", bytes).string(), options, format).trajectory);
}

// Formats with several files.
LOCI_FUZZ_TARGET(camera_folder) {
  camera::ReadOptions options = options_of(take_choice(bytes, 3));
  const std::filesystem::path folder = scratch_files("folder", bytes);
  if (std::filesystem::exists(folder / "lenses.npy")) options.intrinsics = folder / "lenses.npy";
  use(camera::load_trajectory(folder.string(), options).trajectory);
}

LOCI_FUZZ_TARGET(camera_keys) { use(camera::read_key_string(bytes)); }

}  // namespace loci::fuzz
