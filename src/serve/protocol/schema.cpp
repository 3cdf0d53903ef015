// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/schema.h"

#include <string>
#include <string_view>
#include <vector>

#include "loci/base/text.h"
#include "loci/memory/history/history_policy.h"
#include "loci/sample/stream/stream_options.h"
#include "loci/serve/protocol/protocol.h"

namespace loci::serve {

namespace {

// A type in short: "text", "integer", "number", "flag", "bytes", "map", "list", "any", "#Name" for
// another definition, "[#Name]" for a list of it; a '?' at the end allows null.
Json type_of(std::string_view name) {
  if (name.ends_with('?')) {
    name.remove_suffix(1);
    return {{"anyOf", {type_of(name), {{"type", "null"}}}}};
  }
  if (name.starts_with('[')) {
    return {{"type", "array"}, {"items", type_of(name.substr(1, name.size() - 2))}};
  }
  if (name.starts_with('#')) return {{"$ref", "#/$defs/" + std::string(name.substr(1))}};
  if (name == "text") return {{"type", "string"}};
  if (name == "integer" || name == "number") return {{"type", std::string(name)}};
  if (name == "flag") return {{"type", "boolean"}};
  if (name == "bytes") return {{"type", "string"}, {"contentEncoding", "base64"}};
  if (name == "map") return {{"type", "object"}};
  if (name == "list") return {{"type", "array"}};
  return Json::object();
}

// "name:type" pairs between spaces; a '!' before the name means that it is always there.
Json properties(std::string_view fields, Json& required) {
  Json all = Json::object();
  for (std::string_view field : split_whitespace(fields)) {
    const bool always = field.starts_with('!');
    if (always) field.remove_prefix(1);
    const size_t colon = field.find(':');
    const std::string name(field.substr(0, colon));
    all[name] = type_of(field.substr(colon + 1));
    if (always) required.push_back(name);
  }
  return all;
}

Json object(std::string_view fields) {
  Json required = Json::array();
  Json all = properties(fields, required);
  return {{"type", "object"}, {"properties", std::move(all)}, {"required", std::move(required)}};
}

Json message(std::string_view type, std::string_view fields) {
  Json schema = object(fields);
  schema["properties"]["type"] = {{"const", std::string(type)}};
  schema["required"].push_back("type");
  return schema;
}

Json choice(const std::vector<std::string>& names) { return {{"enum", names}}; }

Json any_of(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back({{"$ref", "#/$defs/" + name}});
  return {{"anyOf", std::move(list)}};
}

void add_common(Json& defs) {
  defs["Pose"] = {{"type", "array"},
                  {"items", {{"type", "number"}}},
                  {"minItems", 7},
                  {"maxItems", 7},
                  {"description", "x y z qw qx qy qz, camera to world, OpenCV axes, metres"}};
  defs["History"] = choice(memory::history_names());
  defs["Solver"] = choice(sample::solver_names());
  defs["Readout"] = choice(sample::readout_names());
  defs["World"] = object(
      "!id:text !object:text !kind:text !name:text !created_at:integer !updated_at:integer "
      "!chunks:integer !latents:integer !seconds:number !size:[integer] !prompt:text !seed:text "
      "parent:text? !views:list !open:flag !bytes:integer !picture:text");
  defs["Video"] = object(
      "!id:text !object:text model:text !status:text !progress:integer !created_at:integer "
      "completed_at:integer? expires_at:integer? size:text seconds:text prompt:text "
      "frames:integer error:map? world:text");
  defs["View"] = object(
      "!model:text !history:#History !history_frames:integer !readout:#Readout !steps:integer "
      "!recurrent:flag !frame_budget:integer");
  defs["Retained"] = object("!frame:integer !kind:text !pose:#Pose !seen:flag");
}

void add_client(Json& defs) {
  defs["init"] = message(
      "init",
      "protocol:integer world:text model:text start:any first_frame:bytes tour_seconds:number "
      "prompt:text "
      "negative_prompt:text guidance_scale:number seed:any size:text num_inference_steps:integer "
      "solver:#Solver history:#History history_frames:integer second:map "
      "realtime_output_format:text output_compression:integer fps:number pacing:text "
      "max_chunks:integer paused:flag condition_inputs:map");
  defs["event"] = message("event", "!kind:text payload:any event_id:integer");
  defs["event"]["properties"]["kind"] =
      choice({"camera_actions", "prompt", "steps", "history", "readout", "reset_memory", "pause",
              "resume", "step"});
  defs["save"] = message("save", "name:text request_id:any");
  defs["fork"] = message("fork", "name:text switch:flag request_id:any");
  defs["split"] = message("split", "second:map? request_id:any");
  defs["load"] = message("load", "!world:text request_id:any");
  defs["list_worlds"] = message("list_worlds", "request_id:any");
  defs["delete_world"] = message("delete_world", "!world:text request_id:any");
  defs["record"] = message("record", "!action:text view:integer request_id:any");
  defs["ping"] = message("ping", "");
  defs["ClientMessage"] = any_of({"init", "event", "save", "fork", "split", "load", "list_worlds",
                                  "delete_world", "record", "ping"});
}

void add_server(Json& defs) {
  defs["session"] = message(
      "session",
      "!protocol:integer !world:text !name:text !resumed:flag !next_chunk:integer "
      "!latents:integer !pose:#Pose !prompt:text !seed:text !size:[integer] !fps:number "
      "!chunk_latents:integer !frames_per_latent:integer !fov:number !camera:map !views:[#View] "
      "!path:[#Pose] !path_first:integer recording:flag !limits:map");
  defs["receipt"] = message("receipt",
                            "!event_id:integer !kind:text !status:text "
                            "chunk_index:integer");
  defs["frame_batch"] =
      message("frame_batch",
              "!view:integer !chunk_index:integer !num_frames:integer !frame_index:integer "
              "!frame_batch_index:integer !num_frame_batches:integer !is_final_frame_batch:flag "
              "!content_type:text !encoding:text !width:integer !height:integer !channels:integer "
              "!payload_lengths:[integer] !payload:bytes event_id:integer?");
  defs["chunk_stats"] = message(
      "chunk_stats",
      "!view:integer !chunk_index:integer !num_frames:integer !first_latent:integer "
      "!poses:[#Pose] event_id:integer? scheduler_forward_ms:number commit_ms:number "
      "encode_ms:number store_ms:number chunk_total_ms:number interval_ms:number queue_ms:number "
      "control_latency_ms:number? frame_ms:number !queue_length:integer ws_payload_bytes:integer "
      "!dropped_frames:integer !memory_bytes:integer !process_bytes:integer "
      "!retained:[#Retained] !retained_total:integer revisited:map? !panorama:map "
      "retention:number? state_norm:number? "
      "!state_norms:[number] !given:flag !replayed:flag");
  defs["thumbnails"] = message("thumbnails", "!view:integer !frames:list");
  defs["state"] = message("state",
                          "!state:text reason:text progress:number queue_length:integer "
                          "views:[#View]");
  defs["saved"] = message("saved", "!world:#World request_id:any");
  defs["forked"] = message("forked", "!world:#World !switched:flag request_id:any");
  defs["worlds"] = message("worlds", "!worlds:[#World] request_id:any");
  defs["recording"] = message("recording",
                              "!state:text video:text url:text frames:integer "
                              "seconds:number request_id:any");
  defs["pong"] = message("pong", "");
  defs["error"] = message("error",
                          "!code:text !message:text !fatal:flag event_id:any "
                          "request_id:any");
  defs["ServerMessage"] =
      any_of({"session", "receipt", "frame_batch", "chunk_stats", "thumbnails", "state", "saved",
              "forked", "worlds", "recording", "pong", "error"});
}

}  // namespace

Json protocol_schema() {
  Json defs = Json::object();
  add_common(defs);
  add_client(defs);
  add_server(defs);
  defs["CreateVideo"] = object(
      "prompt:text model:text size:text seed:any num_inference_steps:integer "
      "guidance_scale:number negative_prompt:text history:#History seconds:any "
      "num_frames:integer input_reference:bytes start:any action:text world:text");
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "loci"},
          {"description", "messages of the WebSocket and bodies of the HTTP routes"},
          {"protocol", kProtocol},
          {"$defs", std::move(defs)}};
}

}  // namespace loci::serve
