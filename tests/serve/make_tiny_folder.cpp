// SPDX-License-Identifier: Apache-2.0
// Writes a tiny model folder with a start picture and a camera path, for tests that run `loci
// serve`. Usage: loci_make_tiny_folder FOLDER [softmax]; with "softmax" the model has no recurrent
// layers.
#include <cstdio>
#include <string_view>

#include <ATen/ATen.h>

#include "loci/base/file.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/media/image.h"

#include "tests/model/tiny_model.h"
#include "tests/sample/tiny_folder.h"

namespace {

void add_example(const std::filesystem::path& folder) {
  namespace camera = loci::camera;
  std::filesystem::create_directories(folder);
  // Sky and ground.
  const at::Tensor rows = at::arange(32).view({32, 1, 1}).expand({32, 48, 1});
  const at::Tensor picture = at::cat({rows * 3, rows * 2 + 90, 230 - rows * 6}, 2).to(at::kByte);
  loci::io::write_png(folder / "old-town.png", picture);
  loci::write_file(folder / "old-town.txt", "an old town\n");
  camera::Trajectory path;
  path.fps = 4;
  path.frames_per_pose = 4;
  path.cameras.resize(21);
  for (size_t i = 0; i < path.cameras.size(); ++i) {
    path.cameras[i].pose.position.z = static_cast<double>(i) / 4;
  }
  camera::write_trajectory(folder / "old-town.json", path, camera::kLociJson);
}

}  // namespace

int main(int argc, char** argv) {
  const bool softmax = argc == 3 && std::string_view(argv[2]) == "softmax";
  if (argc != 2 && !softmax) {
    std::fprintf(stderr, "usage: %s FOLDER [softmax]\n", argv[0]);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  loci::model::TransformerConfig config = loci::testing::tiny_config();
  if (softmax) {
    config.hybrid_layers.clear();
    config.recurrent_memory = "none";
  }
  std::filesystem::remove_all(folder);
  loci::testing::make_tiny_folder(folder, softmax ? 2 : 1, config);
  add_example(folder / "examples");
  return 0;
}
