// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/http_bodies.h"

namespace loci::serve {

template <>
const Table<CreateVideo>& table_of() {
  static const Table<CreateVideo> made = [] {
    using M = CreateVideo;
    auto t = Table<M>::map("CreateVideo", "The body of `POST /v1/videos`, JSON or a form.");
    // A video has no second view and no tour: the job refuses both.
    t.include(&M::settings, {"first_frame", "tour_seconds", "second"});
    t.field("input_reference", &M::input_reference,
            "start picture: a file in a form, base64 or a `data:` address in JSON");
    for (FieldInfo& field : t.fields) field.ignored_with = "world";
    t.field("world", &M::world, "continue this world as it is now; the world does not change")
        .at_most(100);
    t.field("seconds", &M::seconds, "length, rounded up to whole chunks")
        .between(0.01, &Limits::video_seconds)
        .default_is("4");
    t.field("num_frames", &M::num_frames, "length in video frames; replaces `seconds`").at_least(1);
    t.field("action", &M::action, "keys such as `w-32,left-16`, or a preset of `loci trajectory`")
        .at_most(4000)
        .default_is("`none-1`");
    return t;
  }();
  return made;
}

template <>
const Table<RenameWorld>& table_of() {
  static const Table<RenameWorld> made = [] {
    auto t = Table<RenameWorld>::map("RenameWorld", "The body of `POST /v1/worlds/{id}`.");
    t.field("name", &RenameWorld::name, "new name").require().at_most(80);
    return t;
  }();
  return made;
}

template <>
const Table<VideoQuery>& table_of() {
  static const Table<VideoQuery> made = [] {
    auto t = Table<VideoQuery>::map("VideoQuery", "The query of `GET /v1/videos`.");
    t.field("limit", &VideoQuery::limit, "number of videos").between(1, 100).default_is("20");
    t.field("after", &VideoQuery::after, "id of the video before the first one")
        .at_most(100)
        .default_is("none");
    t.field("order", &VideoQuery::order, "by time of creation")
        .one_of({"asc", "desc"})
        .default_is("`desc`");
    return t;
  }();
  return made;
}

template <>
const Table<PathQuery>& table_of() {
  static const Table<PathQuery> made = [] {
    auto t = Table<PathQuery>::map("PathQuery", "The query of `GET /v1/starts/{id}/path`.");
    t.field("fps", &PathQuery::fps, "poses per second").between(1, 120).default_is("16");
    return t;
  }();
  return made;
}

template <>
const Table<VideoError>& table_of() {
  static const Table<VideoError> made = [] {
    auto t = Table<VideoError>::map("VideoError", "Why a video failed.");
    t.field("code", &VideoError::code, "kind of error").require();
    t.field("message", &VideoError::message, "explanation for people").require();
    return t;
  }();
  return made;
}

template <>
const Table<VideoInfo>& table_of() {
  static const Table<VideoInfo> made = [] {
    using M = VideoInfo;
    auto t = Table<M>::map("Video", "A video: a job of `POST /v1/videos`, or a recording.");
    t.field("id", &M::id, "id of the video").require();
    t.constant("object", "video");
    t.field("model", &M::model, "id of the model");
    t.field("status", &M::status, "state of the job")
        .require()
        .one_of({"queued", "in_progress", "completed", "failed"});
    t.field("progress", &M::progress, "0 to 100").require();
    t.field("created_at", &M::created_at, "Unix time in seconds").require();
    t.field("created_us", &M::created_us,
            "the same in microseconds, which orders videos of the same second");
    t.field("completed_at", &M::completed_at, "Unix time in seconds").or_null();
    t.field("expires_at", &M::expires_at, "Unix time in seconds when it is deleted").or_null();
    t.field("size", &M::size, "width and height in pixels, such as `192x128`");
    t.field("seconds", &M::seconds, "length in seconds");
    t.field("prompt", &M::prompt, "text prompt");
    t.field("frames", &M::frames, "number of video frames so far").require();
    t.field("error", &M::error, "why it failed").or_null();
    t.field("world", &M::world, "world that was recorded; recordings only");
    return t;
  }();
  return made;
}

template <>
const Table<ModelDetails>& table_of() {
  static const Table<ModelDetails> made = [] {
    using M = ModelDetails;
    auto t = Table<M>::map("ModelDetails", "Properties and defaults of a model.");
    t.field("size", &M::size, "default width and height in pixels").require();
    t.field("fps", &M::fps, "frames per second").require();
    t.field("fov", &M::fov, "horizontal field of view in degrees").require();
    t.field("steps", &M::steps, "default number of denoising steps").require();
    t.field("solver", &M::solver, "default solver").require();
    t.field("guidance", &M::guidance, "default guidance scale").require();
    t.field("history", &M::history, "default history policy").require();
    t.field("histories", &M::histories, "all history policies").require();
    t.field("solvers", &M::solvers, "all solvers").require();
    t.field("readouts", &M::readouts, "all readouts of the recurrent states").require();
    t.field("chunk_latents", &M::chunk_latents, "latents of a chunk").require();
    t.field("frames_per_latent", &M::frames_per_latent, "video frames of a latent").require();
    t.field("parameters", &M::parameters, "number of parameters of the transformer").require();
    t.field("recurrent", &M::recurrent, "the model has recurrent states").require();
    t.field("text", &M::text, "the model uses prompts").require();
    t.field("family", &M::family,
            "style of the rendered scenes that the model was trained for; null: any")
        .or_null();
    return t;
  }();
  return made;
}

template <>
const Table<ModelInfo>& table_of() {
  static const Table<ModelInfo> made = [] {
    auto t = Table<ModelInfo>::map("Model", "A served model, in `GET /v1/models`.");
    t.field("id", &ModelInfo::id, "id of the model: the name of its folder").require();
    t.constant("object", "model");
    t.field("created", &ModelInfo::created, "Unix time in seconds when it was loaded").require();
    t.constant("owned_by", "loci");
    t.field("loci", &ModelInfo::loci, "properties and defaults").require();
    return t;
  }();
  return made;
}

template <>
const Table<StartInfo>& table_of() {
  static const Table<StartInfo> made = [] {
    using M = StartInfo;
    auto t = Table<M>::map("Start", "A start of a world, in `GET /v1/starts`.");
    t.field("id", &M::id, "id of the start").require();
    t.field("kind", &M::kind, "a picture, or a rendered scene")
        .require()
        .one_of({"picture", "procedural"});
    t.field("title", &M::title, "title").require();
    t.field("prompt", &M::prompt, "its prompt; may be empty").require();
    t.field("style", &M::style, "style of a rendered scene").or_null();
    t.field("path", &M::path, "address of a camera path through it").or_null();
    t.field("tour_seconds", &M::tour_seconds,
            "length of the tour of the whole scene in seconds; null: no fixed length")
        .or_null();
    t.field("picture", &M::picture, "address of a JPEG").require();
    return t;
  }();
  return made;
}

std::vector<const TableInfo*> http_tables() {
  return {&table_of<CreateVideo>(), &table_of<RenameWorld>(),  &table_of<VideoQuery>(),
          &table_of<PathQuery>(),   &table_of<VideoInfo>(),    &table_of<VideoError>(),
          &table_of<ModelInfo>(),   &table_of<ModelDetails>(), &table_of<StartInfo>()};
}

}  // namespace loci::serve
