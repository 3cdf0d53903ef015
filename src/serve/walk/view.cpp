// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/view.h"

#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/io/media/image.h"
#include "loci/io/media/resize.h"
#include "loci/sample/open_stream.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/storage/shelf.h"

namespace loci::serve {

namespace {

bool equal(const memory::HistoryOptions& a, const memory::HistoryOptions& b) {
  return a.kind == b.kind && a.budget == b.budget && a.recent == b.recent &&
         a.archive == b.archive && a.sink == b.sink;
}

sample::Prompt embed(const ServedModel& model, const std::string& text,
                     const std::string& negative) {
  if (!model.has_text()) return model.folder().prompt("", "");
  return model.folder().prompt(text, negative);
}

}  // namespace

std::string jpeg_of(const at::Tensor& frame, int quality) {
  const std::vector<std::byte> bytes = io::encode_jpeg(frame, quality);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string thumbnail_of(const at::Tensor& frame) {
  const int64_t height =
      std::max<int64_t>(1, frame.size(0) * kThumbnailWidth / std::max<int64_t>(1, frame.size(1)));
  return jpeg_of(
      io::resize_image(frame.contiguous(), kThumbnailWidth, height, io::ResizeFilter::kBilinear),
      80);
}

sample::StreamOptions View::options_of(const WorldFacts& facts, const ViewSettings& settings,
                                       const ServedModel& model) {
  sample::StreamOptions options =
      sample::stream_options(model.folder(), {.size = PixelSize{facts.width, facts.height},
                                              .guidance = facts.guidance,
                                              .seed = facts.seed});
  options.history = settings.history;
  options.solver = settings.solver;
  return options;
}

View::View(const ServedModel& model, const ViewSettings& settings, sample::Stream stream,
           std::string prompt, std::string negative)
    : model_(&model),
      settings_(settings),
      prompt_(std::move(prompt)),
      negative_(std::move(negative)),
      stream_(std::move(stream)) {
  stream_->set_readout(sample::parse_readout(settings_.readout));
}

View::View(const ServedModel& model, const WorldFacts& facts, const ViewSettings& settings,
           const std::string& prompt, const std::string& negative)
    : View(model, settings,
           sample::Stream(model.folder().transformer(), &model.folder().vae(),
                          options_of(facts, settings, model), embed(model, prompt, negative)),
           prompt, negative) {}

View View::without_decoder(const ServedModel& model, const WorldFacts& facts,
                           const ViewSettings& settings, const ChunkRecord& first) {
  return {model, settings,
          sample::Stream(model.folder().transformer(), nullptr, options_of(facts, settings, model),
                         embed(model, first.prompt, first.negative)),
          first.prompt, first.negative};
}

void View::adopt(View rebuilt) {
  const ViewSettings now = settings_;
  const std::string prompt = prompt_, negative = negative_;
  settings_.history = rebuilt.settings_.history;
  prompt_ = rebuilt.prompt_;
  negative_ = rebuilt.negative_;
  stream_->adopt(std::move(*rebuilt.stream_));
  // The records contain the settings of their chunks; the client may have changed them since.
  set_prompt(prompt, negative);
  stream_->set_solver(now.solver);
  stream_->set_readout(sample::parse_readout(now.readout));
  if (now.reset) stream_->reset_states();
}

sample::Chunk View::start(const at::Tensor& image, const camera::Lens& lens) {
  return stream_->accept_image(image, {camera::Pose(), lens});
}

sample::Chunk View::push(std::span<const camera::Camera> cameras) { return stream_->push(cameras); }

sample::Chunk View::show(const at::Tensor& frames, std::span<const camera::Camera> cameras) {
  const at::NoGradGuard no_grad;
  if (!encoder_) {
    LOCI_CHECK(latents() == 0, "a tour begins with the first frame");
    encoder_.emplace(model_->folder().vae(), stream_->options().tiling);
  }
  return encoder_->accept(*stream_, frames, cameras);
}

void View::set_prompt(const std::string& prompt, const std::string& negative) {
  if (prompt == prompt_ && negative == negative_) return;
  stream_->set_prompt(embed(*model_, prompt, negative));
  prompt_ = prompt;
  negative_ = negative;
}

void View::set_solver(const sample::SolverOptions& solver) {
  stream_->set_solver(solver);
  settings_.solver = solver;
}

void View::set_readout(const std::string& readout) {
  stream_->set_readout(sample::parse_readout(readout));
  settings_.readout = readout;
}

void View::reset_memory() {
  stream_->reset_states();
  settings_.reset = true;
}

void View::replay(const ChunkRecord& record, size_t view) {
  const ChunkRecord::View& past = record.views.at(view);
  if (past.settings.reset) stream_->reset_states();
  if (past.settings.readout != settings_.readout) set_readout(past.settings.readout);
  set_prompt(record.prompt, record.negative);
  set_solver(past.settings.solver);
  if (record.recorded) {
    stream_->accept(past.latents, record.cameras);
  } else {
    stream_->replay(past.latents, record.cameras);
  }
  stream_->commit();
}

View View::open(const ServedModel& model, const WorldFolder& folder, size_t view) {
  const ChunkRecord first = folder.read(0), newest = folder.read(folder.chunks() - 1);
  ViewSettings settings = first.views.at(view).settings;
  settings.history = newest.views.at(view).settings.history;
  settings.reset = false;
  View opened(model, folder.facts(), settings, first.prompt, first.negative);
  opened.load(folder.snapshot(view), settings.history, folder.chunks());
  return opened;
}

void View::load(const std::filesystem::path& file, const memory::HistoryOptions& history,
                int64_t chunks) {
  if (!file_exists(file)) return;
  try {
    const sample::ModelFolder& folder = model_->folder();
    sample::Stream stream =
        sample::Stream::load(file, folder.transformer(), &folder.vae(), folder.hashes());
    if (!equal(stream.options().history, history)) return;
    // The snapshot is newer than the records, some of which were lost.
    if (stream.frames() > model_->time_grid().latents_in_chunks(chunks)) return;
    prompt_ = stream.prompt().text;
    negative_ = stream.prompt().negative;
    settings_.history = history;
    settings_.solver = stream.options().solver;
    settings_.readout = sample::name_of(stream.readout());
    stream_.emplace(std::move(stream));
  } catch (const Error& error) {
    // The view can be rebuilt from the records; the snapshot only saves time.
    log_warning("ignoring a snapshot: {}", error.what());
  }
}

}  // namespace loci::serve
