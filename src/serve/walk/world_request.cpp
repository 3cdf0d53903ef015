// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/world_request.h"

#include <algorithm>
#include <cmath>

#include "loci/base/pixel_size.h"
#include "loci/camera/lens.h"
#include "loci/sample/stream/stream_options.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/fields.h"
#include "loci/serve/protocol/ids.h"
#include "loci/serve/protocol/message.h"

namespace loci::serve {

namespace {

constexpr double kMostTourSeconds = 60;

void parse_size(WorldRequest& request, const std::optional<std::string>& text,
                const ServedModel& model, const Limits& limits) {
  request.width = model.defaults().width;
  request.height = model.defaults().height;
  if (text) {
    const PixelSize size = checked("bad_request", [&] { return parse_pixel_size(*text, "size"); });
    request.width = size.width;
    request.height = size.height;
  }
  const int64_t side = model.side();
  if (request.width % side != 0 || request.height % side != 0) {
    refuse("bad_request", "size: both sides must be multiples of {}", side);
  }
  if (request.width > limits.pixels / request.height) {
    refuse("limit", "size: at most {} pixels are served", limits.pixels);
  }
}

WorldRequest::View parse_view(const Fields& fields, const Models& models, const Limits& limits,
                              const WorldRequest::View* first) {
  WorldRequest::View view;
  const std::optional<std::string> id = fields.text("model", 200);
  view.model = first != nullptr && !id ? first->model : &models.find(id.value_or(""));
  const sample::GenerationDefaults& defaults = view.model->defaults();
  const std::string history =
      fields.choice("history", memory::history_names()).value_or(defaults.history);
  std::optional<int64_t> frames = fields.integer("history_frames", 1, limits.history_frames);
  if (!frames) {
    frames = fields.integer("realtime_causal_kv_cache_num_frames", 1, limits.history_frames);
  }
  view.settings.history = history_options(
      history,
      frames.value_or(first != nullptr ? first->settings.history.budget : defaults.history_frames),
      defaults.archive);
  view.settings.solver = first != nullptr ? first->settings.solver : defaults.solver;
  view.settings.readout = fields.choice("readout", sample::readout_names()).value_or("on");
  if (first == nullptr) {
    view.settings.solver.kind =
        fields.choice("solver", sample::solver_names()).value_or(defaults.solver.kind);
    view.settings.solver.steps =
        fields.integer("num_inference_steps", 1, limits.steps).value_or(defaults.solver.steps);
  }
  return view;
}

void check_pair(const ServedModel& a, const ServedModel& b) {
  if (a.chunk_latents() != b.chunk_latents() || a.frames_per_latent() != b.frames_per_latent() ||
      a.side() != b.side() || a.defaults().fps != b.defaults().fps) {
    refuse("bad_request", "second: the two models differ in chunks, sizes or frame rate");
  }
}

}  // namespace

WorldRequest::View parse_second(const Json& second, const Models& models, const Limits& limits,
                                const WorldRequest::View& first) {
  if (!second.is_object()) refuse("bad_request", "second: expected a map");
  WorldRequest::View view = parse_view(Fields(second), models, limits, &first);
  check_pair(*first.model, *view.model);
  return view;
}

memory::HistoryOptions history_options(const std::string& history, int64_t frames,
                                       int64_t archive) {
  memory::HistoryOptions options;
  options.kind = history;
  options.set_budget(frames);
  options.archive = archive;
  checked("bad_request", [&] { memory::make_history(options); });
  return options;
}

WorldRequest WorldRequest::parse(const Json& message, const Models& models, const Limits& limits) {
  const Fields fields(message);
  WorldRequest request;
  if (const auto world = fields.text("world", 100)) {
    if (!is_id(*world, "world")) refuse("not_found", "there is no such world");
    request.world = *world;
    return request;
  }
  request.views.push_back(parse_view(fields, models, limits, nullptr));
  const ServedModel& model = *request.views.front().model;
  if (const Json* second = fields.find("second")) {
    request.views.push_back(parse_second(*second, models, limits, request.views.front()));
  }
  parse_size(request, fields.text("size", 32), model, limits);
  request.prompt = fields.text("prompt", limits.prompt_bytes);
  request.negative = fields.text("negative_prompt", limits.prompt_bytes).value_or("");
  request.guidance = fields.number("guidance_scale", 0, 100).value_or(model.defaults().guidance);
  request.seed = fields.seed("seed").value_or(request.seed);
  if (const Json* start = fields.find("start")) request.start = *start;
  if (const Json* picture = fields.find("first_frame")) {
    // Text that is no picture names a start.
    const bool name = picture->is_string() && picture->get_ref<const std::string&>().size() <= 100;
    if (name) {
      request.start = *picture;
    } else {
      request.picture = bytes_of(*picture, "first_frame");
    }
  }
  request.tour_seconds = fields.number("tour_seconds", 0, kMostTourSeconds).value_or(0);
  return request;
}

WorldFacts WorldRequest::facts() const {
  const ServedModel& model = *views.front().model;
  WorldFacts facts;
  facts.width = width;
  facts.height = height;
  facts.fps = model.defaults().fps;
  facts.fov = model.defaults().fov;
  facts.guidance = guidance;
  facts.seed = seed;
  facts.chunk_latents = model.chunk_latents();
  facts.frames_per_latent = model.frames_per_latent();
  for (const View& view : views)
    facts.views.push_back({view.model->id(), view.model->weights(), 0, {}});
  return facts;
}

camera::Lens lens_of(const WorldFacts& facts) {
  camera::Lens lens;
  lens.fov_x = camera::radians(facts.fov);
  return lens;
}

void WorldRequest::check_start(const Starts& starts) const {
  starts.check(start);
  if (tour_seconds == 0) return;
  if (!picture.empty()) refuse_tour_of_picture();
  starts.place(start, width, height, views.front().model->defaults().fov);
}

std::unique_ptr<Tour> WorldRequest::tour(const Starts& starts) const {
  if (tour_seconds == 0) return nullptr;
  const WorldFacts facts = this->facts();
  auto [options, seed] = starts.place(start, width, height, facts.fov);
  options.fps = facts.fps;
  TourShape shape{.grid = facts.time_grid()};
  const auto chunk = static_cast<double>(shape.grid.frames_per_chunk());
  shape.chunks = std::max<int64_t>(1, std::llround(tour_seconds * facts.fps / chunk));
  return std::make_unique<Tour>(options, seed, shape);
}

StartPicture WorldRequest::first_frame(const Starts& starts, const Limits& limits,
                                       Tour* tour) const {
  StartPicture picture;
  if (tour != nullptr) {
    picture = tour->first();
  } else if (this->picture.empty()) {
    picture = starts.make(start, width, height, views.front().model->defaults().fov);
  } else {
    picture.image = uploaded_picture(this->picture, limits.upload_pixels, width, height);
  }
  if (prompt) picture.prompt = *prompt;
  return picture;
}

}  // namespace loci::serve
