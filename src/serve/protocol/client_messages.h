// SPDX-License-Identifier: Apache-2.0
// The messages that clients send over the WebSocket. The tables in client_messages.cpp define their
// fields, ranges and defaults; docs/protocol.md is generated from them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "loci/serve/protocol/table.h"

namespace loci::serve {

// The settings of one view. Absent settings are those of the model or of the first view.
struct ViewRequest {
  std::optional<std::string> model, history;
  std::optional<int64_t> history_frames;
  std::optional<std::string> readout;
};

// A scene that the server renders.
struct ProceduralStart {
  std::string style = "town";
  Seed seed{1};
};

// The id of a listed start, or a scene.
using StartChoice = std::variant<std::string, ProceduralStart>;

// A picture as JPEG or PNG, or the id of a listed start.
using FirstFrame = std::variant<Bytes, std::string>;

// The settings of a new world.
struct WorldSettings {
  ViewRequest view;
  std::optional<StartChoice> start;
  std::optional<FirstFrame> first_frame;  // takes precedence over `start`
  double tour_seconds = 0;
  std::optional<std::string> prompt;
  std::string negative_prompt;
  std::optional<double> guidance_scale;
  Seed seed{42};
  std::optional<std::string> size;
  std::optional<int64_t> steps;
  std::optional<std::string> solver;
  std::optional<ViewRequest> second;
};

// Options of the frames that the server sends to a connection.
struct OutputOptions {
  std::string format = "jpeg";
  int64_t quality = 85;
  double fps = 0;  // 0 = the world's
  std::string pacing = "measured";
  int64_t max_chunks = 0;  // 0 = no limit
  bool paused = false;

  bool raw() const { return format == "raw"; }
  bool paced() const { return pacing == "measured"; }
};

// A `camera_actions` payload: the keys of each video frame.
struct KeyScript {
  std::vector<camera::Keys> frames;
};

// A change of the held keys and axes, and a rotation by mouse or touch.
struct Transition {
  std::optional<camera::Keys> actions;  // all keys that are held
  std::optional<camera::Axes> axes;
  std::optional<std::array<double, 2>> look;  // yaw and pitch, degrees
};
// A `camera_actions` payload: changes of what the user holds.
struct ControlState {
  std::vector<Transition> transitions;
};

// A `camera_actions` payload: the pose of each video frame, relative to the current camera.
struct CameraPath {
  std::vector<camera::Pose> poses;
};

using CameraActions = std::variant<KeyScript, ControlState, CameraPath>;

struct ConditionInputs {
  std::optional<CameraActions> camera_actions;
};

struct InitMessage {
  int64_t protocol = 1;
  std::optional<std::string> world;
  WorldSettings settings;
  OutputOptions output;
  std::optional<ConditionInputs> condition_inputs;
};

// Payloads of events. `view`: absent means all views.
struct PromptEvent {
  std::string prompt;
  std::optional<std::string> negative_prompt;  // absent: unchanged
};
struct StepsEvent {
  int64_t steps = 0;
  std::optional<int64_t> view;
};
struct HistoryEvent {
  std::string history;
  std::optional<int64_t> history_frames, view;
};
struct ReadoutEvent {
  std::string readout;
  std::optional<int64_t> view;
};
struct ResetMemoryEvent {
  std::optional<int64_t> view;
};
struct PauseEvent {};
struct ResumeEvent {};
struct StepEvent {
  int64_t count = 1;  // chunks
};
using EventPayload =
    std::variant<CameraActions, PromptEvent, StepsEvent, HistoryEvent, ReadoutEvent,
                 ResetMemoryEvent, PauseEvent, ResumeEvent, StepEvent>;

struct EventMessage {
  std::string kind;
  std::optional<int64_t> event_id;
  EventPayload payload;
};

// `request_id` is null where the client sent none.
struct SaveMessage {
  std::string name;
  Json request_id;
};
struct ForkMessage {
  std::optional<std::string> name;  // absent: as the world's
  bool go_there = false;
  Json request_id;
};
struct SplitMessage {
  std::optional<ViewRequest> second;  // absent: back to one view
  Json request_id;
};
struct LoadMessage {
  std::string world;
  Json request_id;
};
struct ListWorldsMessage {
  Json request_id;
};
struct DeleteWorldMessage {
  std::string world;
  Json request_id;
};
struct RecordMessage {
  std::string action;  // "start" or "stop"
  int64_t view = 0;    // -1: all views side by side
  Json request_id;
};
struct PingMessage {
  Json fields;  // sent back as they came
};

// Messages for the walk of a session, and all messages.
using WalkMessage =
    std::variant<EventMessage, SaveMessage, ForkMessage, SplitMessage, RecordMessage>;
using ClientMessage = std::variant<InitMessage, WalkMessage, LoadMessage, ListWorldsMessage,
                                   DeleteWorldMessage, PingMessage>;

// The `type` of a message; unknown ones are refused ("bad_message").
std::string message_type(const Json& message);
ClientMessage parse_client_message(const Json& message, const Limits& limits);

// The ids that an error about the message repeats; null where the client sent none.
Json event_id_of(const WalkMessage& message);
Json request_id_of(const WalkMessage& message);

// The payload of a `camera_actions` event.
CameraActions parse_camera_actions(const Json& payload, const Limits& limits);

// A kind of event: its name, the type of its payload, and what it does.
struct EventKind {
  std::string name;
  TypeInfo payload;
  bool payload_required = false;
  std::string description;  // one line
  std::function<EventPayload(const Json& payload, const Limits& limits)> read;
};
const std::vector<EventKind>& event_kinds();

// Tables of all client messages, and of the maps in them.
std::vector<const TableInfo*> client_message_tables();
std::vector<const TableInfo*> client_map_tables();

template <>
struct Wire<StartChoice> {
  static TypeInfo type();
  static StartChoice read(const WireValue& value);
};
template <>
struct Wire<FirstFrame> {
  static TypeInfo type() { return Wire<Bytes>::type(); }
  static FirstFrame read(const WireValue& value);
};
template <>
struct Wire<CameraActions> {
  static TypeInfo type();
  static CameraActions read(const WireValue& value);
};
template <>
struct Wire<EventPayload> {
  static TypeInfo type() { return {Json::object(), "unknown", "see below"}; }
};

template <>
const Table<ViewRequest>& table_of();
template <>
const Table<ProceduralStart>& table_of();
template <>
const Table<WorldSettings>& table_of();
template <>
const Table<OutputOptions>& table_of();
template <>
const Table<camera::Axes>& table_of();
template <>
const Table<Transition>& table_of();
template <>
const Table<ControlState>& table_of();
template <>
const Table<CameraPath>& table_of();
template <>
const Table<ConditionInputs>& table_of();
template <>
const Table<InitMessage>& table_of();
template <>
const Table<PromptEvent>& table_of();
template <>
const Table<StepsEvent>& table_of();
template <>
const Table<HistoryEvent>& table_of();
template <>
const Table<ReadoutEvent>& table_of();
template <>
const Table<ResetMemoryEvent>& table_of();
template <>
const Table<StepEvent>& table_of();
template <>
const Table<EventMessage>& table_of();
template <>
const Table<SaveMessage>& table_of();
template <>
const Table<ForkMessage>& table_of();
template <>
const Table<SplitMessage>& table_of();
template <>
const Table<LoadMessage>& table_of();
template <>
const Table<ListWorldsMessage>& table_of();
template <>
const Table<DeleteWorldMessage>& table_of();
template <>
const Table<RecordMessage>& table_of();
template <>
const Table<PingMessage>& table_of();

}  // namespace loci::serve
