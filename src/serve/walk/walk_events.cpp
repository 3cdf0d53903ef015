// SPDX-License-Identifier: Apache-2.0
// How a walk handles the messages of its client.
#include <algorithm>

#include "loci/sample/stream/stream_options.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/fields.h"
#include "loci/serve/walk/walk.h"
#include "loci/serve/walk/walk_registry.h"

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

void Walk::post(const Json& message) {
  if (message.value("type", "") == "event") check_event(message);
  mailbox_->post(message);
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
  const size_t count = memory_.views().size();
  const std::optional<int64_t> view =
      Fields(payload).integer("view", 0, static_cast<int64_t>(count) - 1);
  if (view) return {static_cast<size_t>(*view)};
  std::vector<size_t> all(count);
  for (size_t v = 0; v < all.size(); ++v) all[v] = v;
  return all;
}

void Walk::handle_event(const Json& message) {
  const std::string kind = message.value("kind", "");
  const Json payload = payload_of(message);
  std::vector<View>& views = memory_.views();
  if (kind == "camera_actions") return mailbox_->apply_controls(message);
  if (kind == "prompt") {
    const Json map = as_map(payload, "prompt");
    const Fields fields(map);
    const size_t most = services_.limits.prompt_bytes;
    memory_.set_prompt(fields.text("prompt", most).value_or(""),
                       fields.text("negative_prompt", most).value_or(memory_.negative()));
  } else if (kind == "steps") {
    const Json map = as_map(payload, "steps");
    const auto steps = Fields(map).integer("steps", 1, services_.limits.steps);
    for (const size_t v : views_of(map)) {
      sample::SolverOptions solver = views[v].settings().solver;
      solver.steps = steps.value_or(solver.steps);
      views[v].set_solver(solver);
    }
  } else if (kind == "history") {
    const Json map = as_map(payload, "history");
    const Fields fields(map);
    const std::string history = fields.choice("history", memory::history_names()).value_or("");
    for (const size_t v : views_of(map)) {
      const int64_t frames = fields.integer("history_frames", 1, services_.limits.history_frames)
                                 .value_or(views[v].settings().history.budget);
      memory_.change_history(v,
                             history_options(history, frames, views[v].model().defaults().archive));
    }
  } else if (kind == "readout") {
    const Json map = as_map(payload, "readout");
    const std::string readout =
        Fields(map).choice("readout", sample::readout_names()).value_or("on");
    for (const size_t v : views_of(map)) views[v].set_readout(readout);
  } else if (kind == "reset_memory") {
    const Json map = as_map(payload, "view");
    for (const size_t v : views_of(map)) views[v].reset_memory();
  } else if (kind == "pause") {
    pause("client");
  } else if (kind == "resume") {
    resume();
  } else if (kind == "step") {
    const Json map = as_map(payload, "count");
    if (!state_.paused()) pause("client");
    state_.step(Fields(map).integer("count", 1, kMostSteps).value_or(1));
  }
  output_.send_receipt(mailbox_->client(), message.value("event_id", Json()), kind,
                       memory_.folder().chunks());
}

void Walk::handle_save(const Json& message) {
  const std::string name = Fields(message).text("name", kMostName).value_or("");
  const WorldFolder& from = memory_.folder();
  const std::string id =
      services_.worlds.copy(from, "saved", name, [&](const std::filesystem::path& folder) {
        std::vector<View>& views = memory_.views();
        for (size_t v = 0; v < views.size(); ++v) {
          views[v].save(folder / from.snapshot(v).filename());
        }
      });
  output_.send(mailbox_->client(), {{"type", "saved"},
                                    {"world", services_.worlds.describe(id)},
                                    {"request_id", message.value("request_id", Json())}});
}

void Walk::handle_fork(const Json& message) {
  const Fields fields(message);
  const std::string name = fields.text("name", kMostName).value_or(memory_.facts().name);
  const bool go_there = fields.flag("switch", false);
  memory_.snapshot();
  const std::string id = services_.worlds.copy(memory_.folder(), "live", name);
  if (go_there) {
    memory_.move_to(services_.worlds.open(id));
    services_.walks->name(*this, id);
  }
  output_.send(mailbox_->client(), {{"type", "forked"},
                                    {"world", services_.worlds.describe(id)},
                                    {"switched", go_there},
                                    {"request_id", message.value("request_id", Json())}});
}

void Walk::handle_split(const Json& message) {
  if (recorder_) refuse("bad_request", "a recording is running; stop it first");
  const Json* const second = Fields(message).find("second");
  if (second == nullptr) {
    memory_.drop_second();
    if (const ClientPtr client = mailbox_->client()) show(client, true);
    return;
  }
  const View& view = memory_.views().front();
  const WorldRequest::View first{&view.model(), view.settings()};
  const WorldRequest::View added = parse_second(*second, services_.models, services_.limits, first);
  if (!added.model->shares_latents(*first.model)) {
    refuse("bad_request",
           "second: this model has another autoencoder and cannot read what was walked; begin a "
           "new walk with both");
  }
  memory_.add_second(added);
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
  const auto last = static_cast<int64_t>(memory_.views().size()) - 1;
  const auto view = fields.integer("view", -1, last).value_or(0);
  recorder_.emplace(services_.videos, memory_.facts(), static_cast<int>(view),
                    services_.limits.record_seconds);
  output_.send(mailbox_->client(),
               {{"type", "recording"}, {"state", "started"}, {"request_id", request_id}});
}

bool Walk::stop_recording(const Json& request_id) {
  const Json video = recorder_->finish(services_.videos);
  recorder_.reset();
  if (video.is_null()) return false;
  const auto id = video.value("id", "");
  const auto frames = video.value("frames", 0);
  output_.send(mailbox_->client(), {{"type", "recording"},
                                    {"state", "saved"},
                                    {"video", id},
                                    {"url", "/v1/videos/" + id + "/content"},
                                    {"frames", frames},
                                    {"seconds", static_cast<double>(frames) / memory_.facts().fps},
                                    {"request_id", request_id}});
  return true;
}

}  // namespace loci::serve
