// SPDX-License-Identifier: Apache-2.0
// Handling of client messages by a walk.
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/server_messages.h"
#include "loci/serve/walk/walk.h"
#include "loci/serve/walk/walk_registry.h"

namespace loci::serve {

void Walk::post(WalkMessage message) {
  mailbox_->post(std::move(message));
  services_.engine.wake();
}

std::vector<size_t> Walk::views_of(std::optional<int64_t> view) const {
  const size_t count = memory_.views().size();
  if (view && static_cast<size_t>(*view) >= count) {
    refuse("bad_request", "view: expected an integer from 0 to {}, got {}", count - 1, *view);
  }
  if (view) return {static_cast<size_t>(*view)};
  std::vector<size_t> all(count);
  for (size_t v = 0; v < all.size(); ++v) all[v] = v;
  return all;
}

void Walk::handle(const EventMessage& message) {
  if (const auto* actions = std::get_if<CameraActions>(&message.payload)) {
    return mailbox_->apply_controls(*actions, message.event_id);
  }
  std::visit(
      [this](const auto& payload) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(payload)>, CameraActions>) {
          apply(payload);
        }
      },
      message.payload);
  output_.send_receipt(mailbox_->client(), message.event_id, message.kind,
                       memory_.folder().chunks());
}

void Walk::apply(const PromptEvent& event) {
  memory_.set_prompt(event.prompt, event.negative_prompt.value_or(memory_.negative()));
}

void Walk::apply(const StepsEvent& event) {
  for (const size_t v : views_of(event.view)) {
    View& view = memory_.views()[v];
    sample::SolverOptions solver = view.settings().solver;
    solver.steps = event.steps;
    view.set_solver(solver);
  }
}

void Walk::apply(const HistoryEvent& event) {
  for (const size_t v : views_of(event.view)) {
    const View& view = memory_.views()[v];
    const int64_t frames = event.history_frames.value_or(view.settings().history.budget);
    const sample::GenerationDefaults& defaults = view.model().defaults();
    memory_.change_history(
        v, history_options(event.history, frames, defaults.archive, defaults.sink_frames));
  }
}

void Walk::apply(const ReadoutEvent& event) {
  for (const size_t v : views_of(event.view)) memory_.views()[v].set_readout(event.readout);
}

void Walk::apply(const ResetMemoryEvent& event) {
  for (const size_t v : views_of(event.view)) memory_.views()[v].reset_memory();
}

void Walk::apply(const PauseEvent&) { pause("client"); }

void Walk::apply(const ResumeEvent&) { resume(); }

void Walk::apply(const StepEvent& event) {
  if (!state_.paused()) pause("client");
  state_.step(event.count);
}

void Walk::handle(const SaveMessage& message) {
  const WorldFolder& from = memory_.folder();
  const std::string id =
      services_.worlds.copy(from, "saved", message.name, [&](const std::filesystem::path& folder) {
        std::vector<View>& views = memory_.views();
        for (size_t v = 0; v < views.size(); ++v) {
          views[v].save(folder / from.snapshot(v).filename());
        }
      });
  output_.send(mailbox_->client(),
               to_wire(SavedMessage{services_.worlds.describe(id), message.request_id}));
}

void Walk::handle(const ForkMessage& message) {
  memory_.snapshot();
  const std::string id =
      services_.worlds.copy(memory_.folder(), "live", message.name.value_or(memory_.facts().name));
  if (message.go_there) {
    memory_.move_to(services_.worlds.open(id));
    services_.walks->name(*this, id);
  }
  output_.send(mailbox_->client(), to_wire(ForkedMessage{services_.worlds.describe(id),
                                                         message.go_there, message.request_id}));
}

void Walk::handle(const SplitMessage& message) {
  if (recorder_) refuse("bad_request", "a recording is running; stop it first");
  if (!message.second) {
    memory_.drop_second();
    if (const ClientPtr client = mailbox_->client()) show(client, true);
    return;
  }
  const View& view = memory_.views().front();
  const WorldRequest::View first{&view.model(), view.settings()};
  const WorldRequest::View added = resolve_second(*message.second, services_.models, first);
  if (!added.model->shares_latents(*first.model)) {
    refuse("bad_request",
           "second: this model has another autoencoder and cannot read the latents of this walk; "
           "start a new walk with both models");
  }
  memory_.add_second(added);
  send_state("starting", "split", 0);
}

void Walk::handle(const RecordMessage& message) {
  if (message.action == "stop") {
    if (!recorder_) refuse("bad_request", "no recording is running");
    if (!stop_recording(message.request_id)) {
      refuse("bad_request", "the recording is empty: no chunk was generated since it started");
    }
    return;
  }
  if (recorder_) refuse("bad_request", "a recording is running already");
  if (message.view >= 0) views_of(message.view);
  recorder_.emplace(services_.videos, memory_.facts(), static_cast<int>(message.view),
                    services_.limits.record_seconds);
  RecordingMessage started;
  started.state = "started";
  started.request_id = message.request_id;
  output_.send(mailbox_->client(), to_wire(started));
}

bool Walk::stop_recording(const Json& request_id) {
  const Json video = recorder_->finish(services_.videos);
  recorder_.reset();
  if (video.is_null()) return false;
  const auto id = video.value("id", "");
  const auto frames = video.value("frames", int64_t{0});
  RecordingMessage saved;
  saved.state = "saved";
  saved.video = id;
  saved.url = "/v1/videos/" + id + "/content";
  saved.frames = frames;
  saved.seconds = static_cast<double>(frames) / memory_.facts().fps;
  saved.request_id = request_id;
  output_.send(mailbox_->client(), to_wire(saved));
  return true;
}

}  // namespace loci::serve
