// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/golden/golden_case.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/model/weights/weights.h"

namespace loci::eval {

namespace {

std::string required(const io::Metadata& metadata, const std::string& key,
                     const std::filesystem::path& path) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    fail("{}: not a golden case: the metadata has no '{}'", path.string(), key);
  }
  return found->second;
}

}  // namespace

GoldenCase GoldenCase::open(const std::filesystem::path& path, at::ScalarType compute) {
  const io::SafetensorsFile file = io::SafetensorsFile::open(path);
  const io::Metadata& metadata = file.metadata();
  const auto system = metadata.find("loci.system");
  GoldenCase golden{path,
                    required(metadata, "loci.case", path),
                    system == metadata.end() ? "" : system->second,
                    {},
                    Json::object(),
                    0,
                    compute,
                    file};
  golden.config =
      parse_json(required(metadata, "loci.config", path), path.string() + ": loci.config");
  if (metadata.contains("loci.setting")) {
    golden.setting = parse_json(metadata.at("loci.setting"), path.string() + ": loci.setting");
  }
  const std::string tolerance = required(metadata, "loci.tolerance", path);
  const std::optional<double> number = parse_double(tolerance);
  if (!number || !(*number >= 0)) {
    fail("{}: loci.tolerance is '{}', expected a number >= 0", path.string(), tolerance);
  }
  golden.tolerance = *number;
  return golden;
}

at::Tensor GoldenCase::input(const std::string& name) const { return file.tensor("in." + name); }
at::Tensor GoldenCase::output(const std::string& name) const { return file.tensor("out." + name); }

std::vector<std::string> GoldenCase::output_names() const {
  std::vector<std::string> names;
  for (const io::TensorInfo& info : file.tensors()) {
    if (info.name.starts_with("out.")) names.push_back(info.name.substr(4));
  }
  return names;
}

camera::Trajectory GoldenCase::trajectory() const {
  const at::Tensor c2w = input("c2w").to(at::kDouble).contiguous();
  if (c2w.dim() != 3 || c2w.size(1) != 4 || c2w.size(2) != 4) {
    fail("{}: in.c2w must be [frames, 4, 4]", path.string());
  }
  camera::Lens lens;
  lens.fov_x = input("fov_x").to(at::kDouble).item<double>();
  lens.xi = file.has("in.xi") ? input("xi").to(at::kDouble).item<double>() : 0;
  camera::Trajectory trajectory;
  const auto m = c2w.accessor<double, 3>();
  for (int64_t f = 0; f < c2w.size(0); ++f) {
    camera::Pose pose;
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) pose.rotation(r, c) = m[f][r][c];
    }
    pose.position = {m[f][0][3], m[f][1][3], m[f][2][3]};
    trajectory.cameras.push_back({pose, lens});
  }
  return trajectory;
}

model::TransformerConfig GoldenCase::transformer_config() const {
  model::TransformerConfig made =
      model::TransformerConfig::from_json(config, path.string() + ": loci.config");
  const ConfigReader reader(setting, path.string() + ": loci.setting");
  made.text_len = reader.get<int64_t>("text_len", made.text_len);
  return made;
}

camera::TokenGrid GoldenCase::grid(const model::TransformerConfig& made) const {
  const ConfigReader reader(setting, path.string() + ": loci.setting");
  const auto size = reader.get<std::vector<int64_t>>("latent_size");
  if (size.size() != 2) fail("{}: latent_size must be [height, width]", path.string());
  return made.grid(size[0], size[1]);
}

std::filesystem::path GoldenCase::weights() const {
  const std::filesystem::path name = required(file.metadata(), "loci.weights", path);
  if (name.has_parent_path()) {
    fail("{}: loci.weights is '{}', expected the name of a file beside the case", path.string(),
         name.string());
  }
  return path.parent_path() / name;
}

model::Transformer GoldenCase::transformer() const {
  return model::load_model(transformer_config(), io::Checkpoint::open(weights()),
                           {.dtype = compute})
      .transformer;
}

}  // namespace loci::eval
