// SPDX-License-Identifier: Apache-2.0
// What clients ask of a walk.
#include <algorithm>

#include "loci/sample/stream/stream_options.h"
#include "loci/serve/protocol/fields.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/walk/sessions.h"
#include "loci/serve/walk/walk.h"

namespace loci::serve {

namespace {

constexpr size_t kMostName = 80;
constexpr int64_t kMostSteps = 1000;  // chunks of one `step`

const std::vector<std::string>& event_kinds() {
  static const std::vector<std::string> kinds = {"camera_actions", "prompt",  "steps",
                                                 "history",        "readout", "reset_memory",
                                                 "pause",          "resume",  "step"};
  return kinds;
}

// A payload that is a value alone, or a map with it under `name`.
Json as_map(const Json& payload, const char* name) {
  if (payload.is_object()) return payload;
  return payload.is_null() ? Json::object() : Json{{name, payload}};
}

Json payload_of(const Json& message) { return message.value("payload", Json()); }

}  // namespace

void Walk::check_event(const Json& message) const {
  const Fields fields(message);
  if (const Json* id = fields.find("event_id"); id != nullptr && !id->is_number_integer()) {
    refuse("bad_request", "event_id: expected a whole number");
  }
  const std::optional<std::string> kind = fields.choice("kind", event_kinds());
  if (!kind) refuse("bad_request", "an event needs a kind");
  const Json payload = payload_of(message);
  if (*kind == "prompt") {
    const Json map = as_map(payload, "prompt");
    if (!Fields(map).text("prompt", services_.limits.prompt_bytes)) {
      refuse("bad_request", "prompt: expected text");
    }
  } else if (*kind == "steps") {
    const Json map = as_map(payload, "steps");
    if (!Fields(map).find("steps")) refuse("bad_request", "steps: expected a number");
  } else if (*kind == "history") {
    const Json map = as_map(payload, "history");
    if (!Fields(map).choice("history", memory::history_names())) {
      refuse("bad_request", "history: expected the name of a policy");
    }
  } else if (*kind == "readout") {
    const Json map = as_map(payload, "readout");
    if (!Fields(map).choice("readout", sample::readout_names())) {
      refuse("bad_request", "readout: expected on, off or random");
    }
  }
}

void Walk::apply_controls(const Json& message, Clock::time_point at) {
  controls_->apply(payload_of(message));
  unapplied_.push_back(message.value("event_id", Json()));
  if (!oldest_control_) oldest_control_ = at;
  awake_ = true;
}

void Walk::post(const Json& message) {
  const Clock::time_point now = Clock::now();
  const bool event = message.value("type", "") == "event";
  if (event) check_event(message);
  {
    const std::lock_guard lock(mutex_);
    last_input_ = now;
    if (inbox_.size() >= services_.limits.queued_events ||
        unapplied_.size() >= services_.limits.queued_events) {
      refuse("limit", "too many controls wait for the next chunk");
    }
    // Held keys are taken by the chunk that begins next, whatever waits before it.
    if (event && controls_ && message.value("kind", "") == "camera_actions") {
      apply_controls(message, now);
    } else {
      inbox_.push_back({message, now});
    }
  }
  services_.engine.wake();
}

void Walk::handle(const Json& message) {
  const std::string type = message.value("type", "");
  if (type == "event") return handle_event(message);
  if (type == "save") return handle_save(message);
  if (type == "fork") return handle_fork(message);
  if (type == "split") return handle_split(message);
  if (type == "record") return handle_record(message);
  refuse("bad_request", "unknown type");
}

std::vector<size_t> Walk::views_of(const Json& payload) const {
  const std::optional<int64_t> view =
      Fields(payload).integer("view", 0, static_cast<int64_t>(views_.size()) - 1);
  if (view) return {static_cast<size_t>(*view)};
  std::vector<size_t> all(views_.size());
  for (size_t v = 0; v < all.size(); ++v) all[v] = v;
  return all;
}

void Walk::handle_event(const Json& message) {
  const std::string kind = message.value("kind", "");
  const Json payload = payload_of(message);
  if (kind == "camera_actions") {
    const std::lock_guard lock(mutex_);
    return apply_controls(message, Clock::now());
  }
  if (kind == "prompt") {
    const Json map = as_map(payload, "prompt");
    const Fields fields(map);
    prompt_ = fields.text("prompt", services_.limits.prompt_bytes).value_or("");
    negative_ = fields.text("negative_prompt", services_.limits.prompt_bytes).value_or(negative_);
    for (View& view : views_) view.set_prompt(prompt_, negative_);
  } else if (kind == "steps") {
    const Json map = as_map(payload, "steps");
    const auto steps = Fields(map).integer("steps", 1, services_.limits.steps);
    for (const size_t v : views_of(map)) {
      sample::SolverOptions solver = views_[v].settings().solver;
      solver.steps = steps.value_or(solver.steps);
      views_[v].set_solver(solver);
    }
  } else if (kind == "history") {
    const Json map = as_map(payload, "history");
    const Fields fields(map);
    const std::string history = fields.choice("history", memory::history_names()).value_or("");
    for (const size_t v : views_of(map)) {
      const int64_t frames = fields.integer("history_frames", 1, services_.limits.history_frames)
                                 .value_or(views_[v].settings().history.budget);
      ViewSettings settings = views_[v].settings();
      settings.history = history_options(history, frames, views_[v].model().defaults().archive);
      std::erase_if(rebuilds_, [v](const Rebuild& rebuild) { return rebuild.view == v; });
      rebuilds_.push_back(
          {v, View::blind(views_[v].model(), folder_->facts(), settings, folder_->read(0))});
    }
  } else if (kind == "readout") {
    const Json map = as_map(payload, "readout");
    const std::string readout =
        Fields(map).choice("readout", sample::readout_names()).value_or("on");
    for (const size_t v : views_of(map)) views_[v].set_readout(readout);
  } else if (kind == "reset_memory") {
    const Json map = as_map(payload, "view");
    for (const size_t v : views_of(map)) views_[v].reset_memory();
  } else if (kind == "pause") {
    pause("client");
  } else if (kind == "resume") {
    resume();
  } else if (kind == "step") {
    const Json map = as_map(payload, "count");
    if (!paused_) pause("client");
    steps_left_ = Fields(map).integer("count", 1, kMostSteps).value_or(1);
  }
  const Json id = message.value("event_id", Json());
  if (id.is_null()) return;
  last_event_ = id;
  if (const std::shared_ptr<Client> client = this->client()) {
    client->send({{"type", "receipt"},
                  {"event_id", id},
                  {"kind", kind},
                  {"status", "applied"},
                  {"chunk_index", folder_->chunks()}});
  }
}

void Walk::handle_save(const Json& message) {
  const std::string name = Fields(message).text("name", kMostName).value_or("");
  const std::string id =
      services_.worlds.copy(*folder_, "saved", name, [this](const std::filesystem::path& folder) {
        for (size_t v = 0; v < views_.size(); ++v) {
          views_[v].save(folder / folder_->snapshot(v).filename());
        }
      });
  if (const std::shared_ptr<Client> client = this->client()) {
    client->send({{"type", "saved"},
                  {"world", services_.worlds.describe(id)},
                  {"request_id", message.value("request_id", Json())}});
  }
}

void Walk::handle_fork(const Json& message) {
  const Fields fields(message);
  const std::string name = fields.text("name", kMostName).value_or(folder_->facts().name);
  const bool go_there = fields.flag("switch", false);
  snapshot();
  const std::string id = services_.worlds.copy(*folder_, "live", name);
  if (go_there) {
    folder_ = services_.worlds.open(id);
    services_.sessions->name(*this, id);
  }
  if (const std::shared_ptr<Client> client = this->client()) {
    client->send({{"type", "forked"},
                  {"world", services_.worlds.describe(id)},
                  {"switched", go_there},
                  {"request_id", message.value("request_id", Json())}});
  }
}

void Walk::handle_split(const Json& message) {
  if (recorder_) refuse("bad_request", "a recording is running; stop it first");
  const Json* const second = Fields(message).find("second");
  if (second == nullptr) {
    drop_second();
    if (const std::shared_ptr<Client> client = this->client()) show(*client, true);
    return;
  }
  const WorldRequest::View first{&views_.front().model(), views_.front().settings()};
  WorldRequest::View added = parse_second(*second, services_.models, services_.limits, first);
  if (!added.model->shares_latents(*first.model)) {
    refuse("bad_request",
           "second: this model has another autoencoder and cannot read what was walked; begin a "
           "new walk with both");
  }
  drop_second();
  folder_->set_views(
      {folder_->facts().views.front(),
       {added.model->id(), added.model->weights(), folder_->chunks(), added.settings}});
  rebuilds_.push_back(
      {1, View::blind(*added.model, folder_->facts(), added.settings, folder_->read(0))});
  send_state("starting", "split", 0);
}

void Walk::handle_record(const Json& message) {
  const Fields fields(message);
  const std::string action = fields.choice("action", {"start", "stop"}).value_or("");
  const Json request_id = message.value("request_id", Json());
  if (action == "stop") {
    if (!recorder_) refuse("bad_request", "nothing is being recorded");
    if (!stop_recording(request_id)) {
      refuse("bad_request", "nothing was recorded: no chunk was made meanwhile");
    }
    return;
  }
  if (action != "start") refuse("bad_request", "action: expected start or stop");
  if (recorder_) refuse("bad_request", "a recording is running already");
  const auto view = fields.integer("view", -1, static_cast<int64_t>(views_.size()) - 1).value_or(0);
  recorder_.emplace(services_.videos, folder_->facts(), static_cast<int>(view),
                    services_.limits.record_seconds);
  if (const std::shared_ptr<Client> client = this->client()) {
    client->send({{"type", "recording"}, {"state", "started"}, {"request_id", request_id}});
  }
}

bool Walk::stop_recording(const Json& request_id) {
  const Json video = recorder_->finish(services_.videos);
  recorder_.reset();
  const std::shared_ptr<Client> client = this->client();
  if (video.is_null()) return false;
  if (client == nullptr) return true;
  const auto id = video.value("id", "");
  client->send({{"type", "recording"},
                {"state", "saved"},
                {"video", id},
                {"url", "/v1/videos/" + id + "/content"},
                {"frames", video.value("frames", 0)},
                {"seconds", static_cast<double>(video.value("frames", 0)) / folder_->facts().fps},
                {"request_id", request_id}});
  return true;
}

}  // namespace loci::serve
