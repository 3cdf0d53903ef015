// SPDX-License-Identifier: Apache-2.0
// loci generate
#include "loci/app/generate/generate.h"

#include <filesystem>
#include <optional>

#include "loci/app/cli/command.h"
#include "loci/base/error.h"
#include "loci/memory/history/history_policy.h"
#include "loci/sample/solvers/solver.h"
#include "loci/sample/stream/stream_options.h"

namespace loci::app {

namespace {

void add_source(CLI::App& app, GenerateOptions& o) {
  app.add_option("--model", o.model, "folder with transformer, vae/ and text encoder")
      ->type_name("DIR")
      ->required();
  app.add_option("--image", o.image, "first frame, resized and cut to the size")->type_name("FILE");
  app.add_option("--context", o.context,
                 "recorded folder (video and poses) whose beginning is the past")
      ->type_name("DIR");
  app.add_option("--context-seconds", o.context_seconds,
                 "how much of it, cut to whole chunks; half of it if not given")
      ->type_name("S")
      ->check(CLI::Range(0.0, 36000.0));
  app.add_flag("--keep-context", o.keep_context,
               "show the context, decoded, before the new frames");
  app.add_option("--load-world", o.load_world, "go on from a saved world")->type_name("FILE");
  app.add_option("--trajectory", o.trajectory,
                 "camera path: file, folder, preset or key string such as w-32,left-16")
      ->type_name("PATH");
  app.add_option("--prompt", o.prompt, "what the world looks like")->type_name("TEXT");
  app.add_option("--negative", o.negative, "what to stay away from, with --guidance")
      ->type_name("TEXT");
}

void add_shape(CLI::App& app, GenerateOptions& o) {
  app.add_option("--seconds", o.seconds, "length, rounded up to whole chunks; that of the path")
      ->type_name("S")
      ->check(CLI::Range(0.001, 360000.0));
  app.add_option("--size", o.size, "pixels; what the model was trained for if not given")
      ->type_name("WxH");
  app.add_option("--tile", o.tile,
                 "decode in tiles of this side, a multiple of a latent's; whole frames: 0")
      ->type_name("PIXELS")
      ->check(CLI::Range(0, 1 << 14));
  app.add_option("--fov", o.fov, "horizontal field of view where the path has no lens")
      ->type_name("DEG")
      ->check(CLI::Range(1.0, 179.0));
}

void add_sampling(CLI::App& app, GenerateOptions& o) {
  app.add_option("--history", o.history, "which past frames are attended to")
      ->check(CLI::IsMember(memory::history_names()));
  app.add_option("--history-frames", o.history_frames,
                 "most of them, beside the chunk's own; what suits the model")
      ->type_name("N");
  app.add_option("--archive", o.archive, "frames kept aside for retrieval; 0 = all")
      ->type_name("N");
  app.add_option("--kv", o.kv, "how keys and values are stored")
      ->check(CLI::IsMember(memory::kv_format_names()));
  app.add_option("--staging", o.staging_mib, "most memory for gathered history; no limit: 0")
      ->type_name("MIB")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--readout", o.readout, "of the recurrent memory, for ablations")
      ->check(CLI::IsMember(sample::readout_names()));
  app.add_option("--solver", o.solver, "of the flow")->check(CLI::IsMember(sample::solver_names()));
  app.add_option("--steps", o.steps, "of the solver")->type_name("N");
  app.add_option("--shift", o.shift, "of the noise levels towards noise")->type_name("X");
  app.add_option("--guidance", o.guidance, "towards the prompt; 1 = none, at no cost")
      ->type_name("X");
  app.add_option("--seed", o.seed, "of the noise")->type_name("N");
  app.add_option("--dtype", o.dtype, "type of the transformer's products")
      ->check(CLI::IsMember(std::vector<std::string>{"fp32", "bf16"}))
      ->capture_default_str();
}

}  // namespace

void add_generate(CLI::App& app) {
  app.description("Generate video along a camera path, chunk by chunk, for as long as you like");
  auto o = std::make_shared<GenerateOptions>();
  add_source(app, *o);
  add_shape(app, *o);
  add_sampling(app, *o);
  app.add_option("--out", o->out, "video (.mp4), or a folder of pictures")
      ->type_name("FILE")
      ->required();
  app.add_option("--save-world", o->save_world, "keep the world at the end, to go on from there")
      ->type_name("FILE");
  app.add_flag("--preview", o->preview, "a picture of the newest frames after every chunk");
  app.add_flag("--resume", o->resume, "go on after an interruption, with the same options");
  examples(app,
           {{"loci generate --model models/mini --image town.png --trajectory look_around --out "
             "town.mp4",
             "look around a place"},
            {"loci generate --model models/mini --image a.png --trajectory w-64,left-32 --prompt "
             "\"a desert at noon\" --seconds 20 --seed 3 --out a.mp4 --save-world a.world",
             "drive by keys, keep the world"},
            {"loci generate --model models/mini --load-world a.world --trajectory right-80 --out "
             "b.mp4",
             "go on from there"},
            {"loci generate --model models/mini --context clips/000000 --out c.mp4",
             "continue a recording along its own path"}});
  app.callback([o] { generate(*o); });
}

}  // namespace loci::app
