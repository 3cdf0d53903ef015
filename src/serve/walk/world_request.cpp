// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/world_request.h"

#include <algorithm>
#include <cmath>

#include "loci/base/pixel_size.h"
#include "loci/camera/lens.h"
#include "loci/sample/stream/stream_options.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/ids.h"
#include "loci/serve/walk/uploaded_picture.h"

namespace loci::serve {

namespace {

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
    refuse("limit", "size: at most {} pixels are allowed", limits.pixels);
  }
}

WorldRequest::View resolve_view(const ViewRequest& asked, const Models& models,
                                const WorldRequest::View* first) {
  WorldRequest::View view;
  view.model =
      first != nullptr && !asked.model ? first->model : &models.find(asked.model.value_or(""));
  const sample::GenerationDefaults& defaults = view.model->defaults();
  const int64_t frames =
      first != nullptr ? first->settings.history.budget : defaults.history_frames;
  view.settings.history = history_options(asked.history.value_or(defaults.history),
                                          asked.history_frames.value_or(frames), defaults.archive,
                                          defaults.sink_frames);
  view.settings.solver = first != nullptr ? first->settings.solver : defaults.solver;
  view.settings.readout = asked.readout.value_or("on");
  return view;
}

void check_pair(const ServedModel& a, const ServedModel& b) {
  if (a.time_grid() != b.time_grid() || a.side() != b.side() ||
      a.defaults().fps != b.defaults().fps) {
    refuse("bad_request",
           "second: the two models must have the same chunk size, frame size and frame rate");
  }
}

}  // namespace

WorldRequest::View resolve_second(const ViewRequest& second, const Models& models,
                                  const WorldRequest::View& first) {
  WorldRequest::View view = resolve_view(second, models, &first);
  check_pair(*first.model, *view.model);
  return view;
}

memory::HistoryOptions history_options(const std::string& history, int64_t frames, int64_t archive,
                                       int64_t sink) {
  memory::HistoryOptions options;
  options.kind = history;
  options.set_budget(frames);
  options.archive = archive;
  options.sink = sink;
  checked("bad_request", [&] { memory::make_history(options); });
  return options;
}

WorldRequest WorldRequest::resolve(const std::optional<std::string>& world,
                                   const WorldSettings& settings, const Models& models,
                                   const Limits& limits) {
  WorldRequest request;
  if (world) {
    if (!is_id(*world, "world")) refuse("not_found", "there is no such world");
    request.world = *world;
    return request;
  }
  View& first = request.views.emplace_back(resolve_view(settings.view, models, nullptr));
  first.settings.solver.kind = settings.solver.value_or(first.settings.solver.kind);
  first.settings.solver.steps = settings.steps.value_or(first.settings.solver.steps);
  const ServedModel& model = *first.model;
  if (settings.second) {
    request.views.push_back(resolve_second(*settings.second, models, View(first)));
  }
  parse_size(request, settings.size, model, limits);
  request.prompt = settings.prompt;
  request.negative = settings.negative_prompt;
  request.guidance = settings.guidance_scale.value_or(model.defaults().guidance);
  request.seed = settings.seed.value;
  request.start = settings.start;
  if (settings.first_frame) {
    if (const auto* id = std::get_if<std::string>(&*settings.first_frame)) {
      request.start = *id;
    } else {
      request.picture = std::get<Bytes>(*settings.first_frame).data;
      if (request.picture.empty())
        refuse("bad_request", "first_frame: the picture is empty; expected a PNG or JPEG image");
    }
  }
  request.tour_seconds = settings.tour_seconds;
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
  facts.given_in_chunk = model.time_grid().given_in_chunk;
  facts.camera_at_start = model.time_grid().camera_at_start;
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
  starts.scene(start, width, height, views.front().model->defaults().fov);
}

std::unique_ptr<Tour> WorldRequest::tour(const Starts& starts) const {
  if (tour_seconds == 0) return nullptr;
  const WorldFacts facts = this->facts();
  auto [options, seed] = starts.scene(start, width, height, facts.fov);
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
