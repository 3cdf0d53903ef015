// SPDX-License-Identifier: Apache-2.0
// The field tables: parsing of client messages, encoding of server messages, the JSON Schema.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/memory/history/history_registry.h"
#include "loci/serve/net/refusal.h"
#include "loci/serve/protocol/client_messages.h"
#include "loci/serve/protocol/http_bodies.h"
#include "loci/serve/protocol/schema.h"
#include "loci/serve/protocol/server_messages.h"

#include "tests/serve/conformance.h"

namespace loci::serve {
namespace {

using testing::differs_from_schema;
using ::testing::HasSubstr;

template <typename T>
T parsed(const Json& message) {
  const ClientMessage any = parse_client_message(message, Limits());
  if constexpr (std::is_constructible_v<WalkMessage, T>) {
    return std::get<T>(std::get<WalkMessage>(any));
  } else {
    return std::get<T>(any);
  }
}

template <typename Payload>
Payload event_payload(const std::string& kind, const Json& payload) {
  const Json message = {{"type", "event"}, {"kind", kind}, {"payload", payload}};
  return std::get<Payload>(parsed<EventMessage>(message).payload);
}

std::string refused(const Json& message) {
  try {
    parse_client_message(message, Limits());
  } catch (const Refusal& refusal) {
    return refusal.code() + ": " + refusal.what();
  }
  return "";
}

std::string refused_init(const Json& fields) {
  Json message = {{"type", "init"}};
  message.update(fields);
  return refused(message);
}

TEST(ClientMessages, HaveTheDocumentedDefaults) {
  const auto init = parsed<InitMessage>({{"type", "init"}});
  EXPECT_EQ(init.protocol, 1);
  EXPECT_FALSE(init.world);
  EXPECT_EQ(init.settings.seed.value, 42U);
  EXPECT_EQ(init.output.quality, 85);
  EXPECT_TRUE(init.output.paced());
  EXPECT_FALSE(init.output.raw());
  EXPECT_FALSE(init.settings.second);
  EXPECT_EQ(parsed<RecordMessage>({{"type", "record"}, {"action", "stop"}}).view, 0);
  EXPECT_EQ(event_payload<StepEvent>("step", nullptr).count, 1);
  EXPECT_FALSE(parsed<ForkMessage>({{"type", "fork"}}).go_there);
}

TEST(ClientMessages, AcceptNumbersAsTextIgnoreUnknownFieldsAndTreatNullAsAbsent) {
  const auto init = parsed<InitMessage>({{"type", "init"},
                                         {"num_inference_steps", "7"},
                                         {"realtime_causal_kv_cache_num_frames", 12},
                                         {"seed", "18446744073709551615"},
                                         {"fps", nullptr},
                                         {"second", {{"history", "dense"}}},
                                         {"unknown", {1, 2}}});
  EXPECT_EQ(init.settings.steps, 7);
  EXPECT_EQ(init.settings.view.history_frames, 12);
  EXPECT_EQ(init.settings.seed.value, UINT64_MAX);
  EXPECT_EQ(init.output.fps, 0);
  EXPECT_EQ(init.settings.second->history, "dense");
}

TEST(ClientMessages, IgnoreSettingsOfANewWorldWhenAWorldIsGiven) {
  const auto init =
      parsed<InitMessage>({{"type", "init"}, {"world", "world_x"}, {"history", 7}, {"start", 7}});
  EXPECT_EQ(init.world, "world_x");
  EXPECT_THAT(refused_init({{"world", "world_x"}, {"pacing", 7}}), HasSubstr("pacing"));
}

TEST(ClientMessages, TellPicturesFromIdsOfStarts) {
  const auto first_frame = [](const Json& value) {
    return *parsed<InitMessage>({{"type", "init"}, {"first_frame", value}}).settings.first_frame;
  };
  EXPECT_EQ(std::get<std::string>(first_frame("town-1")), "town-1");
  EXPECT_EQ(std::get<Bytes>(first_frame(binary("jpeg"))).data, "jpeg");
  const std::string picture(200, 'x');
  EXPECT_EQ(std::get<Bytes>(first_frame(base64_encode(picture))).data, picture);
  const auto start = [](const Json& value) {
    return *parsed<InitMessage>({{"type", "init"}, {"start", value}}).settings.start;
  };
  EXPECT_EQ(std::get<std::string>(start("town-1")), "town-1");
  const auto scene = std::get<ProceduralStart>(start({{"style", "forest"}}));
  EXPECT_EQ(scene.style, "forest");
  EXPECT_EQ(scene.seed.value, 1U);
}

TEST(ClientMessages, TakeEventPayloadsAsMapsOrAsSingleValues) {
  EXPECT_EQ(event_payload<PromptEvent>("prompt", "a town").prompt, "a town");
  EXPECT_EQ(event_payload<StepsEvent>("steps", {{"steps", 3}, {"view", 1}}).view, 1);
  EXPECT_EQ(event_payload<HistoryEvent>("history", "window").history, "window");
  EXPECT_EQ(event_payload<ReadoutEvent>("readout", "off").readout, "off");
  EXPECT_EQ(event_payload<ResetMemoryEvent>("reset_memory", 1).view, 1);
  EXPECT_EQ(event_payload<StepEvent>("step", 5).count, 5);
  const auto event = parsed<EventMessage>({{"type", "event"}, {"kind", "pause"}, {"event_id", 9}});
  EXPECT_EQ(event.event_id, 9);
  EXPECT_TRUE(std::holds_alternative<PauseEvent>(event.payload));
}

TEST(ClientMessages, RefuseWrongValuesWithTheValidOnes) {
  EXPECT_THAT(refused({{"type", "dance"}}), HasSubstr("bad_message: type: expected one of: init"));
  EXPECT_THAT(refused({{"type", 7}}), HasSubstr("bad_request"));
  EXPECT_EQ(refused_init({{"num_inference_steps", 100000}}),
            "bad_request: num_inference_steps: expected an integer from 1 to 100, got 100000");
  EXPECT_EQ(refused_init({{"output_compression", 1.5}}),
            "bad_request: output_compression: expected an integer from 1 to 100, got 1.5");
  EXPECT_EQ(refused_init({{"pacing", "fast"}}),
            "bad_request: pacing: unknown value 'fast'; choose one of: measured, none");
  EXPECT_THAT(refused_init({{"second", {{"history", "all"}}}}),
              HasSubstr("second.history: unknown value 'all'; choose one of: dense"));
  EXPECT_EQ(refused_init({{"second", 7}}), "bad_request: second: expected a map, got 7");
  EXPECT_EQ(refused_init({{"paused", "yes"}}),
            "bad_request: paused: expected true or false, got 'yes'");
  EXPECT_EQ(refused_init({{"prompt", std::string(5000, 'x')}}),
            "limit: prompt: expected a string of at most 4000 bytes, got 5000 bytes");
  EXPECT_THAT(refused_init({{"start", {{"kind", "photo"}}}}), HasSubstr("\"procedural\""));
  EXPECT_EQ(refused({{"type", "record"}}),
            "bad_request: action: this field is required; choose one of: start, stop");
  EXPECT_THAT(refused({{"type", "event"}, {"kind", "fly"}}), HasSubstr("camera_actions, prompt"));
  EXPECT_THAT(refused({{"type", "event"}, {"kind", "steps"}, {"payload", 0}}),
              HasSubstr("from 1 to 100"));
  EXPECT_THAT(refused({{"type", "event"}, {"kind", "prompt"}}), HasSubstr("prompt: this field is"));
  EXPECT_THAT(refused({{"type", "event"}, {"kind", "camera_actions"}, {"payload", "w"}}),
              HasSubstr("\"state\" or \"path\""));
}

TEST(ServerMessages, LeaveOutEmptyFieldsOrSendNull) {
  const Json state = to_wire(StateMessage{.state = "paused", .reason = "idle"});
  EXPECT_EQ(
      state,
      (Json{{"type", "state"}, {"state", "paused"}, {"reason", "idle"}, {"queue_length", 0}}));
  EXPECT_EQ(differs_from_schema(state, "state"), "");
  const Json error = to_wire(ErrorMessage{.code = "limit", .message = "x", .request_id = "r"});
  EXPECT_EQ(error, (Json{{"type", "error"},
                         {"code", "limit"},
                         {"message", "x"},
                         {"fatal", false},
                         {"request_id", "r"}}));
  const Json saved = to_wire(SavedMessage{.world = {.kind = "saved"}});
  EXPECT_TRUE(saved["request_id"].is_null());
  EXPECT_TRUE(saved["world"]["parent"].is_null());
  ChunkStatsMessage stats{.replayed = true};
  stats.memory.retained.push_back({.frame = 3, .kind = "sink"});
  Json json = to_wire(stats);
  EXPECT_FALSE(json.contains("commit_ms"));
  EXPECT_FALSE(json.contains("control_latency_ms"));
  EXPECT_EQ(json["retained"][0]["pose"], Json({0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(differs_from_schema(json, "chunk_stats"), "");
  stats.times.emplace();
  json = to_wire(stats);
  EXPECT_TRUE(json["control_latency_ms"].is_null());
  EXPECT_EQ(differs_from_schema(json, "chunk_stats"), "");
}

TEST(Schema, DefinesEveryTableAndEveryReference) {
  Limits limits;
  limits.steps = 7;
  const Json schema = protocol_schema(limits);
  const Json& defs = schema["$defs"];
  EXPECT_EQ(defs["init"]["properties"]["num_inference_steps"]["maximum"], 7);
  EXPECT_EQ(defs["init"]["properties"]["type"]["const"], "init");
  EXPECT_EQ(defs["CameraPath"]["properties"]["poses"]["minItems"], 1);
  EXPECT_EQ(defs["Transition"]["properties"]["look"]["minItems"], 2);
  EXPECT_EQ(defs["History"]["enum"], Json(memory::history_names()));
  EXPECT_EQ(defs["event"]["properties"]["kind"]["enum"].size(), event_kinds().size());
  for (const auto& tables : {client_message_tables(), client_map_tables(), server_message_tables(),
                             server_map_tables(), http_tables()}) {
    for (const TableInfo* table : tables) {
      ASSERT_TRUE(defs.contains(table->name)) << table->name;
      std::set<std::string> names;
      for (const FieldInfo& field : table->fields) {
        EXPECT_TRUE(names.insert(field.name).second) << table->name << "." << field.name;
        EXPECT_TRUE(!field.description.empty() || !field.constant.empty())
            << table->name << "." << field.name;
      }
    }
  }
  const std::string text = schema.dump();
  const std::string mark = "#/$defs/";
  for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
    const std::string name = text.substr(at + mark.size(), text.find('"', at) - at - mark.size());
    EXPECT_TRUE(defs.contains(name)) << name;
  }
}

TEST(Schema, IsCheckedByTheTestClient) {
  const Json good = to_wire(RecordingMessage{.state = "started"});
  EXPECT_EQ(differs_from_schema(good, "recording"), "");
  Json bad = good;
  bad["unknown"] = 1;
  EXPECT_THAT(differs_from_schema(bad, "recording"), HasSubstr("undocumented"));
  bad = good;
  bad.erase("state");
  EXPECT_THAT(differs_from_schema(bad, "recording"), HasSubstr("missing"));
  bad["state"] = "lost";
  EXPECT_THAT(differs_from_schema(bad, "recording"), HasSubstr("lost"));
}

}  // namespace
}  // namespace loci::serve
