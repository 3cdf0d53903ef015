// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/client_messages.h"

#include <algorithm>

#include "loci/memory/history/history_registry.h"
#include "loci/sample/stream/stream_options.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/protocol.h"

namespace loci::serve {

namespace {

constexpr double kModelBytes = 200, kWorldBytes = 100, kNameBytes = 80;
constexpr double kMostTransitions = 256;
constexpr double kMostStepChunks = 1000;
constexpr size_t kLongestStartId = 100;  // bytes; a longer `first_frame` is a picture

// A payload that is a value alone stands for a map with that value under `name`.
Json as_map(const Json& payload, const std::string& name) {
  if (payload.is_object()) return payload;
  return payload.is_null() ? Json::object() : Json{{name, payload}};
}

template <typename T>
void add_view(Table<T>& table) {
  table.field("view", &T::view, "view that changes").between(0, 1).default_is("all views");
}

// The kind `name`, whose payload is a T or the value of T's field `alone`.
template <typename T>
EventKind event_kind(const char* name, const char* alone, const char* description) {
  const Table<T>& table = table_of<T>();
  EventKind kind{name, any_of({table.find(alone)->type, table.type()}), false, description, {}};
  kind.payload_required = std::any_of(table.fields.begin(), table.fields.end(),
                                      [](const FieldInfo& field) { return field.required; });
  kind.read = [alone](const Json& payload, const Limits& limits) -> EventPayload {
    return parse<T>(as_map(payload, alone), limits);
  };
  return kind;
}

template <typename T>
EventKind bare_kind(const char* name, const char* description) {
  const auto read = [](const Json&, const Limits&) -> EventPayload { return T{}; };
  return {name, {Json::object(), "undefined", "–"}, false, description, read};
}

EventMessage parse_event(const Json& message, const Limits& limits) {
  EventMessage event = parse<EventMessage>(message, limits);
  const std::vector<EventKind>& kinds = event_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const EventKind& each) { return each.name == event.kind; });
  event.payload = kind->read(message.value("payload", Json()), limits);
  return event;
}

std::vector<std::string> names_of(const std::vector<const TableInfo*>& tables) {
  std::vector<std::string> names;
  for (const TableInfo* table : tables) names.push_back(table->name);
  return names;
}

}  // namespace

template <>
const Table<ViewRequest>& table_of() {
  static const Table<ViewRequest> made = [] {
    auto t = Table<ViewRequest>::map("Second", "The settings of one view.");
    t.field("model", &ViewRequest::model, "id of a model, from `/v1/models`")
        .at_most(kModelBytes)
        .default_is("the first model");
    t.field("history", &ViewRequest::history, "history policy")
        .one_of("History", memory::history_names)
        .default_is("the model's");
    t.field("history_frames", &ViewRequest::history_frames,
            "maximum number of retained frames of a bounded history")
        .between(1, &Limits::history_frames)
        .also_named("realtime_causal_kv_cache_num_frames")
        .default_is("the model's");
    t.field("readout", &ViewRequest::readout, "readout of the recurrent states")
        .one_of("Readout", sample::readout_names)
        .default_is("`on`");
    return t;
  }();
  return made;
}

template <>
const Table<ProceduralStart>& table_of() {
  static const Table<ProceduralStart> made = [] {
    auto t = Table<ProceduralStart>::map("ProceduralStart", "A scene that the server renders.");
    t.constant("kind", "procedural");
    t.fields.back().required = false;
    t.field("style", &ProceduralStart::style, "style of the scene, from `/v1/starts`")
        .default_is("`town`");
    t.field("seed", &ProceduralStart::seed, "seed of the scene").default_is("1");
    return t;
  }();
  return made;
}

template <>
const Table<WorldSettings>& table_of() {
  static const Table<WorldSettings> made = [] {
    auto t = Table<WorldSettings>::map("WorldSettings", "Settings of a new world.");
    t.include(&WorldSettings::view);
    t.field("start", &WorldSettings::start, "start of the world: an id, or a scene to render")
        .default_is("the first start");
    t.field("first_frame", &WorldSettings::first_frame,
            "own start picture, JPEG or PNG; replaces `start`");
    t.field("tour_seconds", &WorldSettings::tour_seconds,
            "length of the tour of a rendered scene, in seconds")
        .between(0, 60)
        .default_is("0");
    t.field("prompt", &WorldSettings::prompt, "text prompt")
        .at_most(&Limits::prompt_bytes)
        .default_is("the start's");
    t.field("negative_prompt", &WorldSettings::negative_prompt, "negative prompt for guidance")
        .at_most(&Limits::prompt_bytes)
        .default_is("empty");
    t.field("guidance_scale", &WorldSettings::guidance_scale, "guidance scale; 1 = no guidance")
        .between(0, 100)
        .default_is("the model's");
    t.field("seed", &WorldSettings::seed, "seed of the noise, 0 to 2⁶⁴ − 1").default_is("42");
    t.field("size", &WorldSettings::size, "size of the frames in pixels, such as `192x128`")
        .at_most(32)
        .default_is("the model's");
    t.field("num_inference_steps", &WorldSettings::steps, "number of denoising steps")
        .between(1, &Limits::steps)
        .default_is("the model's");
    t.field("solver", &WorldSettings::solver, "solver")
        .one_of("Solver", sample::solver_names)
        .default_is("the model's");
    t.field("second", &WorldSettings::second, "opens view 1 with these settings");
    return t;
  }();
  return made;
}

template <>
const Table<OutputOptions>& table_of() {
  static const Table<OutputOptions> made = [] {
    auto t = Table<OutputOptions>::map("OutputOptions",
                                       "Options of the frames that a connection receives.");
    t.field("realtime_output_format", &OutputOptions::format,
            "`raw`: RGB bytes, row by row; any other value means `jpeg`")
        .at_most(16)
        .default_is("`jpeg`");
    t.field("output_compression", &OutputOptions::quality, "JPEG quality")
        .between(1, 100)
        .default_is("85");
    t.field("fps", &OutputOptions::fps, "playback rate in frames per second; limits the pacing")
        .between(0.1, 60)
        .default_is("the model's");
    t.field("pacing", &OutputOptions::pacing, "how frames are spread over time")
        .one_of({"measured", "none"})
        .default_is("`measured`");
    t.field("max_chunks", &OutputOptions::max_chunks,
            "pause after this many chunks of the connection; 0 = no limit")
        .between(0, 1 << 30)
        .default_is("0");
    t.field("paused", &OutputOptions::paused, "start paused").default_is("false");
    return t;
  }();
  return made;
}

template <>
const Table<camera::Axes>& table_of() {
  static const Table<camera::Axes> made = [] {
    auto t = Table<camera::Axes>::map("Axes", "Sticks and touch, added to the keys.");
    t.field("forward", &camera::Axes::forward, "forward; negative is back")
        .clamp(-1, 1)
        .default_is("0");
    t.field("right", &camera::Axes::right, "right; negative is left").clamp(-1, 1).default_is("0");
    t.field("yaw", &camera::Axes::yaw, "turn right; negative is left").clamp(-1, 1).default_is("0");
    t.field("pitch", &camera::Axes::pitch, "look up; negative is down")
        .clamp(-1, 1)
        .default_is("0");
    return t;
  }();
  return made;
}

template <>
const Table<Transition>& table_of() {
  static const Table<Transition> made = [] {
    auto t = Table<Transition>::map("Transition", "A change of the held keys and axes.");
    t.field("actions", &Transition::actions, "all keys that are held; `[]` releases all")
        .default_is("unchanged");
    t.field("axes", &Transition::axes, "sticks and touch, added to the keys")
        .default_is("unchanged");
    t.field("look", &Transition::look, "yaw and pitch since the last message, degrees")
        .clamp(-360, 360)
        .default_is("none");
    t.described<double>("client_ts_ms", "time of the client in ms; not used");
    return t;
  }();
  return made;
}

template <>
const Table<ControlState>& table_of() {
  static const Table<ControlState> made = [] {
    auto t = Table<ControlState>::map("ControlState",
                                      "The keys and axes that the user holds from now on.");
    t.constant("mode", "state");
    t.field("transitions", &ControlState::transitions, "changes, in their order")
        .require()
        .at_most(kMostTransitions);
    return t;
  }();
  return made;
}

template <>
const Table<CameraPath>& table_of() {
  static const Table<CameraPath> made = [] {
    auto t = Table<CameraPath>::map("CameraPath", "Poses to follow.");
    t.constant("mode", "path");
    t.field("poses", &CameraPath::poses, "one per video frame, relative to the current camera")
        .require()
        .at_least(1)
        .at_most(&Limits::script_frames);
    return t;
  }();
  return made;
}

template <>
const Table<ConditionInputs>& table_of() {
  static const Table<ConditionInputs> made = [] {
    auto t = Table<ConditionInputs>::map("ConditionInputs", "Controls of the first chunk.");
    t.field("camera_actions", &ConditionInputs::camera_actions, "as in an event");
    return t;
  }();
  return made;
}

template <>
const Table<InitMessage>& table_of() {
  static const Table<InitMessage> made = [] {
    auto t = Table<InitMessage>::message("init", "Opens a world. The first message, sent once.");
    t.field("protocol", &InitMessage::protocol, "version of the protocol that the client speaks")
        .at_least(0)
        .default_is(std::to_string(kProtocol));
    t.field("world", &InitMessage::world, "continue this world; a saved world is copied first")
        .at_most(kWorldBytes);
    const size_t first = t.fields.size();
    t.include(&InitMessage::settings);
    for (size_t i = first; i < t.fields.size(); ++i) t.fields[i].ignored_with = "world";
    t.include(&InitMessage::output);
    t.field("condition_inputs", &InitMessage::condition_inputs, "controls of the first chunk");
    return t;
  }();
  return made;
}

template <>
const Table<PromptEvent>& table_of() {
  static const Table<PromptEvent> made = [] {
    auto t = Table<PromptEvent>::map("PromptEvent", "Another prompt.");
    t.field("prompt", &PromptEvent::prompt, "text prompt").require().at_most(&Limits::prompt_bytes);
    t.field("negative_prompt", &PromptEvent::negative_prompt, "negative prompt for guidance")
        .at_most(&Limits::prompt_bytes)
        .default_is("unchanged");
    return t;
  }();
  return made;
}

template <>
const Table<StepsEvent>& table_of() {
  static const Table<StepsEvent> made = [] {
    auto t = Table<StepsEvent>::map("StepsEvent", "Another number of denoising steps.");
    t.field("steps", &StepsEvent::steps, "number of denoising steps")
        .require()
        .between(1, &Limits::steps);
    add_view(t);
    return t;
  }();
  return made;
}

template <>
const Table<HistoryEvent>& table_of() {
  static const Table<HistoryEvent> made = [] {
    auto t = Table<HistoryEvent>::map("HistoryEvent", "Another history policy.");
    t.field("history", &HistoryEvent::history, "history policy")
        .require()
        .one_of("History", memory::history_names);
    t.field("history_frames", &HistoryEvent::history_frames,
            "maximum number of retained frames of a bounded history")
        .between(1, &Limits::history_frames)
        .default_is("unchanged");
    add_view(t);
    return t;
  }();
  return made;
}

template <>
const Table<ReadoutEvent>& table_of() {
  static const Table<ReadoutEvent> made = [] {
    auto t = Table<ReadoutEvent>::map("ReadoutEvent", "Another readout of the recurrent states.");
    t.field("readout", &ReadoutEvent::readout, "readout of the recurrent states")
        .require()
        .one_of("Readout", sample::readout_names);
    add_view(t);
    return t;
  }();
  return made;
}

template <>
const Table<ResetMemoryEvent>& table_of() {
  static const Table<ResetMemoryEvent> made = [] {
    auto t = Table<ResetMemoryEvent>::map("ResetMemoryEvent", "Resets the recurrent states.");
    add_view(t);
    return t;
  }();
  return made;
}

template <>
const Table<StepEvent>& table_of() {
  static const Table<StepEvent> made = [] {
    auto t = Table<StepEvent>::map("StepEvent", "Generates chunks, then pauses.");
    t.field("count", &StepEvent::count, "number of chunks")
        .between(1, kMostStepChunks)
        .default_is("1");
    return t;
  }();
  return made;
}

template <>
const Table<EventMessage>& table_of() {
  static const Table<EventMessage> made = [] {
    auto t = Table<EventMessage>::message("event", "A control, applied at the next chunk.");
    std::vector<std::string> kinds;
    for (const EventKind& kind : event_kinds()) kinds.push_back(kind.name);
    t.field("kind", &EventMessage::kind, "what changes").require().one_of(kinds);
    t.described<EventPayload>("payload", "depends on the kind");
    t.field("event_id", &EventMessage::event_id,
            "echoed in receipts, `frame_batch` and `chunk_stats`");
    return t;
  }();
  return made;
}

template <>
const Table<SaveMessage>& table_of() {
  static const Table<SaveMessage> made = [] {
    auto t = Table<SaveMessage>::message("save", "Saves a copy of the world. Answer: `saved`.");
    t.field("name", &SaveMessage::name, "name of the copy").at_most(kNameBytes).default_is("empty");
    t.field("request_id", &SaveMessage::request_id, "echoed in the answer");
    return t;
  }();
  return made;
}

template <>
const Table<ForkMessage>& table_of() {
  static const Table<ForkMessage> made = [] {
    auto t =
        Table<ForkMessage>::message("fork", "Makes a live copy of the world. Answer: `forked`.");
    t.field("name", &ForkMessage::name, "name of the copy")
        .at_most(kNameBytes)
        .default_is("the world's");
    t.field("switch", &ForkMessage::go_there, "the session continues in the copy")
        .default_is("false");
    t.field("request_id", &ForkMessage::request_id, "echoed in the answer");
    return t;
  }();
  return made;
}

template <>
const Table<SplitMessage>& table_of() {
  static const Table<SplitMessage> made = [] {
    auto t = Table<SplitMessage>::message("split",
                                          "Opens, replaces or closes view 1. Answer: `session`.");
    t.field("second", &SplitMessage::second, "settings of view 1; null: back to one view")
        .null_allowed()
        .default_is("null");
    t.field("request_id", &SplitMessage::request_id, "echoed if the request is refused");
    return t;
  }();
  return made;
}

template <>
const Table<LoadMessage>& table_of() {
  static const Table<LoadMessage> made = [] {
    auto t = Table<LoadMessage>::message(
        "load", "Opens another world in this connection. Answer: `session`.");
    t.field("world", &LoadMessage::world, "id of the world").require().at_most(kWorldBytes);
    t.field("request_id", &LoadMessage::request_id, "echoed if the request is refused");
    return t;
  }();
  return made;
}

template <>
const Table<ListWorldsMessage>& table_of() {
  static const Table<ListWorldsMessage> made = [] {
    auto t =
        Table<ListWorldsMessage>::message("list_worlds", "Lists the worlds. Answer: `worlds`.");
    t.field("request_id", &ListWorldsMessage::request_id, "echoed in the answer");
    return t;
  }();
  return made;
}

template <>
const Table<DeleteWorldMessage>& table_of() {
  static const Table<DeleteWorldMessage> made = [] {
    auto t = Table<DeleteWorldMessage>::message("delete_world",
                                                "Deletes a closed world. Answer: `worlds`.");
    t.field("world", &DeleteWorldMessage::world, "id of the world").require().at_most(kWorldBytes);
    t.field("request_id", &DeleteWorldMessage::request_id, "echoed in the answer");
    return t;
  }();
  return made;
}

template <>
const Table<RecordMessage>& table_of() {
  static const Table<RecordMessage> made = [] {
    auto t = Table<RecordMessage>::message("record",
                                           "Starts or stops a recording. Answer: `recording`.");
    t.field("action", &RecordMessage::action, "what to do").require().one_of({"start", "stop"});
    t.field("view", &RecordMessage::view, "recorded view; −1 = all views side by side")
        .between(-1, 1)
        .default_is("0");
    t.field("request_id", &RecordMessage::request_id, "echoed in the answer");
    return t;
  }();
  return made;
}

template <>
const Table<PingMessage>& table_of() {
  static const Table<PingMessage> made = [] {
    auto t = Table<PingMessage>::message("ping", "Answer: `pong` with the same fields.");
    t.described<double>("sent", "any field is sent back; the page sends its time in ms");
    return t;
  }();
  return made;
}

TypeInfo Wire<StartChoice>::type() {
  return any_of({Wire<std::string>::type(), Wire<ProceduralStart>::type()});
}

StartChoice Wire<StartChoice>::read(const WireValue& value) {
  if (value.json.is_string()) return value.json.get<std::string>();
  if (!value.json.is_object()) value.refuse_type("the id of a start, or a map");
  if (value.json.value("kind", Json("procedural")) != "procedural") {
    const std::string where = value.where + ".kind";
    const Rules none;
    WireValue{value.json["kind"], none, value.limits, where}.refuse_type("\"procedural\"");
  }
  return Wire<ProceduralStart>::read(value);
}

FirstFrame Wire<FirstFrame>::read(const WireValue& value) {
  const bool is_id =
      value.json.is_string() && value.json.get_ref<const std::string&>().size() <= kLongestStartId;
  if (is_id) return value.json.get<std::string>();
  return Bytes{value.bytes()};
}

TypeInfo Wire<CameraActions>::type() {
  TypeInfo type = any_of(
      {list_of(Wire<camera::Keys>::type()), Wire<ControlState>::type(), Wire<CameraPath>::type()});
  type.words = "key script, `ControlState` or `CameraPath`";
  return type;
}

CameraActions Wire<CameraActions>::read(const WireValue& value) {
  if (value.json.is_array()) {
    return KeyScript{Wire<std::vector<camera::Keys>>::read(value)};
  }
  const Json mode = value.json.is_object() ? value.json.value("mode", Json()) : Json();
  if (mode == "path") return Wire<CameraPath>::read(value);
  if (mode == "state") return Wire<ControlState>::read(value);
  value.refuse_type("a list of video frames, or a map with \"mode\" \"state\" or \"path\"");
}

CameraActions parse_camera_actions(const Json& payload, const Limits& limits) {
  const Rules none;
  return Wire<CameraActions>::read({payload, none, limits, "camera_actions"});
}

const std::vector<EventKind>& event_kinds() {
  static const std::vector<EventKind> kinds = {
      {"camera_actions", Wire<CameraActions>::type(), true, "moves the camera",
       [](const Json& payload, const Limits& limits) -> EventPayload {
         return parse_camera_actions(payload, limits);
       }},
      event_kind<PromptEvent>("prompt", "prompt", "sets the prompt"),
      event_kind<StepsEvent>("steps", "steps", "sets the number of denoising steps"),
      event_kind<HistoryEvent>("history", "history", "sets the history policy"),
      event_kind<ReadoutEvent>("readout", "readout", "sets the readout of the recurrent states"),
      event_kind<ResetMemoryEvent>("reset_memory", "view", "resets the recurrent states"),
      bare_kind<PauseEvent>("pause", "pauses the walk"),
      bare_kind<ResumeEvent>("resume", "resumes the walk"),
      event_kind<StepEvent>("step", "count", "generates that many chunks, then pauses"),
  };
  return kinds;
}

std::vector<const TableInfo*> client_message_tables() {
  return {&table_of<InitMessage>(),       &table_of<EventMessage>(),
          &table_of<SaveMessage>(),       &table_of<ForkMessage>(),
          &table_of<SplitMessage>(),      &table_of<LoadMessage>(),
          &table_of<ListWorldsMessage>(), &table_of<DeleteWorldMessage>(),
          &table_of<RecordMessage>(),     &table_of<PingMessage>()};
}

std::vector<const TableInfo*> client_map_tables() {
  return {&table_of<ViewRequest>(),     &table_of<ProceduralStart>(), &table_of<Transition>(),
          &table_of<camera::Axes>(),    &table_of<ControlState>(),    &table_of<CameraPath>(),
          &table_of<ConditionInputs>(), &table_of<PromptEvent>(),     &table_of<StepsEvent>(),
          &table_of<HistoryEvent>(),    &table_of<ReadoutEvent>(),    &table_of<ResetMemoryEvent>(),
          &table_of<StepEvent>()};
}

Json event_id_of(const WalkMessage& message) {
  const auto* event = std::get_if<EventMessage>(&message);
  return event != nullptr && event->event_id ? Json(*event->event_id) : Json();
}

Json request_id_of(const WalkMessage& message) {
  return std::visit(
      []<typename T>(const T& each) -> Json {
        if constexpr (std::is_same_v<T, EventMessage>) {
          return {};
        } else {
          return each.request_id;
        }
      },
      message);
}

std::string message_type(const Json& message) {
  const Json type = message.value("type", Json());
  const std::vector<std::string> names = names_of(client_message_tables());
  if (!type.is_null() && !type.is_string()) refuse("bad_request", "type: expected a string");
  const std::string name = type.is_null() ? "" : type.get<std::string>();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    refuse("bad_message", "type: expected one of: {}", fmt::join(names, ", "));
  }
  return name;
}

ClientMessage parse_client_message(const Json& message, const Limits& limits) {
  const std::string type = message_type(message);
  if (type == "init") return parse<InitMessage>(message, limits);
  if (type == "event") return WalkMessage(parse_event(message, limits));
  if (type == "save") return WalkMessage(parse<SaveMessage>(message, limits));
  if (type == "fork") return WalkMessage(parse<ForkMessage>(message, limits));
  if (type == "split") return WalkMessage(parse<SplitMessage>(message, limits));
  if (type == "record") return WalkMessage(parse<RecordMessage>(message, limits));
  if (type == "load") return parse<LoadMessage>(message, limits);
  if (type == "list_worlds") return parse<ListWorldsMessage>(message, limits);
  if (type == "delete_world") return parse<DeleteWorldMessage>(message, limits);
  return PingMessage{message};
}

}  // namespace loci::serve
