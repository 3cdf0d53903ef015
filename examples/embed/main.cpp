// SPDX-License-Identifier: Apache-2.0
// Embeds the engine in another program: starts from a picture, generates chunk by chunk, and writes
// one image per chunk. A robot, a game or a server would drive a stream in the same way.
//
//   embed MODEL PICTURE FOLDER
#include <loci/base/error.h>
#include <loci/camera/path/presets.h>
#include <loci/camera/path/resample.h>
#include <loci/io/media/image.h>
#include <loci/io/media/resize.h>
#include <loci/sample/model_folder.h>
#include <loci/sample/open_stream.h>
#include <loci/sample/stream/stream.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

namespace {

void walk(const std::filesystem::path& model, const std::filesystem::path& picture,
          const std::filesystem::path& out) {
  const loci::sample::ModelFolder folder(model);
  const loci::sample::GenerationDefaults& defaults = folder.defaults();

  // A preset. Any cameras work, one per latent: camera-to-world poses, OpenCV axes, metres.
  loci::camera::PresetOptions path;
  path.seconds = 2.5;
  path.fps = defaults.fps;
  path.fov_x = defaults.fov * M_PI / 180;
  const loci::camera::Trajectory poses =
      loci::camera::latent_poses(loci::camera::make_preset("look_around", path));

  // All options from the folder's generation.json; a StreamOverrides changes single values.
  loci::sample::Stream stream = loci::sample::open_stream(folder);

  const loci::io::FittedImage first =
      loci::io::resize_and_crop(loci::io::read_image(picture), defaults.width, defaults.height);
  stream.accept_image(first.image, poses.cameras.front());

  std::filesystem::create_directories(out);
  const auto size = static_cast<size_t>(stream.chunk_size());
  for (size_t at = 1; at + size <= poses.cameras.size(); at += size) {
    const loci::sample::Chunk chunk = stream.push({poses.cameras.data() + at, size});
    const auto file = out / ("chunk-" + std::to_string(at) + ".png");
    loci::io::write_png(file, chunk.frames[-1]);
    std::printf("%s: attended to %zu earlier frames\n", file.c_str(), chunk.visible.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: embed MODEL PICTURE FOLDER\n");
    return 2;
  }
  try {
    walk(argv[1], argv[2], argv[3]);
  } catch (const loci::Error& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return loci::exit_code(error.kind());
  }
}
