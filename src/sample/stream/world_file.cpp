// SPDX-License-Identifier: Apache-2.0
// World files: one safetensors file with the tensors of a stream, and a JSON header in its
// metadata.
#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/weights/weight_hash.h"
#include "loci/sample/stream/finite.h"
#include "loci/sample/stream/pose_tensors.h"
#include "loci/sample/stream/stream.h"

namespace loci::sample {

namespace {

constexpr const char* kKey = "loci.world";
constexpr int64_t kVersion = 1;

using Tensors = std::map<std::string, at::Tensor>;

void add(io::NamedTensors& all, const std::string& prefix, const Tensors& tensors) {
  for (const auto& [name, tensor] : tensors) all.emplace_back(prefix + name, tensor);
}

// Tensors whose names start with `prefix`, with the prefix removed.
Tensors take(const io::SafetensorsFile& file, const std::string& prefix) {
  Tensors tensors;
  for (const io::TensorInfo& info : file.tensors()) {
    if (info.name.starts_with(prefix)) {
      tensors[info.name.substr(prefix.size())] = file.tensor(info.name);
    }
  }
  return tensors;
}

at::Tensor tensor_if_there(const io::SafetensorsFile& file, const std::string& name) {
  return file.has(name) ? file.tensor(name) : at::Tensor();
}

Json metadata_of(const io::SafetensorsFile& file, const std::filesystem::path& path) {
  const auto found = file.metadata().find(kKey);
  if (found == file.metadata().end()) {
    fail("{} is not a world file; expected a file of 'loci generate --save-world'", path.string());
  }
  return parse_json(found->second, path.string());
}

struct Header {
  WorldInfo info;
  Json config;
  std::string weights, autoencoder;  // hashes; the latter is empty without an autoencoder
  std::string decoder;               // hash of a small decoder; empty without one
  std::string readout;
  uint64_t readout_seed = 0;
};

Header read_header(const io::SafetensorsFile& file, const std::filesystem::path& path) {
  const ConfigReader reader(metadata_of(file, path), path.string());
  const auto version = reader.get<int64_t>("version");
  if (version != kVersion) {
    fail("{} has version {}; expected version {}", path.string(), version, kVersion);
  }
  Header header;
  header.info.options =
      StreamOptions::from_json(reader.section("options").json(), path.string() + ": options");
  header.info.prompt = reader.get<std::string>("prompt");
  header.info.negative = reader.get<std::string>("negative");
  header.info.frames = reader.get<int64_t>("frames");
  constexpr int64_t kMostFrames = int64_t{1} << 40;  // 8,000 years; sums with it cannot overflow
  if (header.info.frames < 1 || header.info.frames > kMostFrames) {
    fail("{}: the world has {} frames, expected at least 1; the file is damaged", path.string(),
         header.info.frames);
  }
  header.config = reader.section("config").json();
  header.weights = reader.get<std::string>("weights");
  header.autoencoder = reader.get<std::string>("autoencoder");
  header.decoder = reader.get<std::string>("decoder", "");
  header.readout = reader.choose("readout", "on", readout_names());
  header.readout_seed = parse_seed(reader.get<std::string>("readout_seed"), path.string());
  return header;
}

}  // namespace

ModelHashes hash_models(const model::Transformer& model, const model::Vae* vae) {
  ModelHashes hashes{.transformer = model::weight_hash(model.parameters())};
  if (vae == nullptr) return hashes;
  hashes.autoencoder = model::weight_hash(vae->parameters());
  if (vae->tiny_decoder() != nullptr) {
    hashes.decoder = model::weight_hash(vae->tiny_decoder()->parameters());
  }
  return hashes;
}

void Stream::save(const std::filesystem::path& file, const ModelHashes& hashes) {
  if (frames_ == 0) fail("cannot save a world: the stream has no frame");
  commit();
  io::NamedTensors tensors;
  add(tensors, "main.", main_->save());
  if (negative_ != nullptr) add(tensors, "negative.", negative_->save());
  if (decoder_) add(tensors, "decoder.", decoder_->cache().save());
  if (prompt_.embedding.defined()) tensors.emplace_back("prompt", prompt_.embedding);
  if (prompt_.negative_embedding.defined()) {
    tensors.emplace_back("negative_prompt", prompt_.negative_embedding);
  }
  if (waits()) tensors.emplace_back("waiting", pending_->latents);
  tensors.emplace_back("last_pose", pose_tensor(std::span(&last_camera_, 1)));
  tensors.emplace_back("last_lens", lens_tensor(std::span(&last_camera_, 1)));
  for (const auto& [name, tensor] : tensors) {
    if (!all_finite(tensor)) {
      fail_check("cannot save the world at latent {} to {}: {} has NaN or infinite values", frames_,
                 file.string(), name);
    }
  }
  const Json header = {{"version", kVersion},
                       {"options", options_.to_json()},
                       {"prompt", prompt_.text},
                       {"negative", prompt_.negative},
                       {"frames", frames_},
                       {"config", model_->config().to_json()},
                       {"weights", hashes.transformer},
                       {"autoencoder", vae_ == nullptr ? "" : hashes.autoencoder},
                       {"decoder", vae_ == nullptr ? "" : hashes.decoder},
                       {"readout", name_of(readout_)},
                       {"readout_seed", std::to_string(readout_seed_)}};
  io::write_safetensors(file, tensors, {{kKey, header.dump()}});
}

Stream Stream::load(const std::filesystem::path& path, const model::Transformer& model,
                    const model::Vae* vae, const ModelHashes& hashes) {
  const io::SafetensorsFile file = io::SafetensorsFile::open(path);
  const Header header = read_header(file, path);
  if (header.config != model.config().to_json()) {
    fail("{} was saved by a model with another config; load it with the model that saved it",
         path.string());
  }
  if (header.weights != hashes.transformer) {
    fail(
        "{} was saved with other weights or another data type; load it with the model that saved "
        "it",
        path.string());
  }
  if (vae != nullptr && header.autoencoder != hashes.autoencoder) {
    fail("{} was saved with another autoencoder; load it with the model folder that saved it",
         path.string());
  }
  if (vae != nullptr && header.decoder != hashes.decoder) {
    fail("{} was saved with {}; load it with the same decoder", path.string(),
         header.decoder.empty()   ? "the autoencoder's own decoder"
         : hashes.decoder.empty() ? "a small decoder"
                                  : "another small decoder");
  }
  for (const io::TensorInfo& info : file.tensors()) {
    if (!all_finite(file.tensor(info.name))) {
      fail("{}: {} has NaN or infinite values; the file is damaged", path.string(), info.name);
    }
  }
  const Prompt prompt{header.info.prompt, tensor_if_there(file, "prompt"), header.info.negative,
                      tensor_if_there(file, "negative_prompt")};
  Stream stream(model, vae, header.info.options, prompt);
  std::optional<model::VaeCache> decoder;
  try {
    stream.main_->restore(take(file, "main."));
    if (stream.negative_ != nullptr) stream.negative_->restore(take(file, "negative."));
    if (vae != nullptr) decoder = model::VaeCache::restore(take(file, "decoder."));
  } catch (const Error& error) {
    fail("{}: {}; the file is damaged", path.string(), error.what());
  }
  const at::Tensor waiting = tensor_if_there(file, "waiting");
  const int64_t committed = header.info.frames - (waiting.defined() ? 1 : 0);
  for (const CachedTransformer* each : stream.streams()) {
    if (each->next_frame() != committed) {
      fail("{}: the header has {} frames, but {} are stored; the file is damaged", path.string(),
           committed, each->next_frame());
    }
  }
  if (decoder) stream.decoder_.emplace(*vae, std::move(*decoder), stream.options_.tiling);
  const auto cameras = cameras_from(file.tensor("last_pose"), file.tensor("last_lens"),
                                    path.string() + ": last camera");
  if (cameras.size() != 1) {
    fail("{}: {} last cameras, expected one; the file is damaged", path.string(), cameras.size());
  }
  if (waiting.defined()) {
    const StreamOptions& options = stream.options_;
    const std::vector<int64_t> shape = {1, model.config().channels, 1, options.latent_height,
                                        options.latent_width};
    if (waiting.sizes() != at::IntArrayRef(shape) || !model.config().given_in_chunk ||
        committed != 0) {
      fail("{}: the waiting first frame does not fit this model; the file is damaged",
           path.string());
    }
    stream.pending_ = {waiting.to(at::kFloat), cameras, memory::Origin::kRecorded};
    stream.open(cameras);
  }
  stream.frames_ = header.info.frames;
  stream.last_camera_ = cameras.front();
  stream.before_chunk_ = cameras.front();
  stream.set_readout(parse_readout(header.readout), header.readout_seed);
  return stream;
}

WorldInfo read_world(const std::filesystem::path& file) {
  return read_header(io::SafetensorsFile::open(file), file).info;
}

}  // namespace loci::sample
