// SPDX-License-Identifier: Apache-2.0
// loci generate
#include "loci/app/generate/generate.h"

#include <filesystem>
#include <optional>

#include "loci/app/cli/command.h"
#include "loci/app/tools/models.h"
#include "loci/base/error.h"
#include "loci/memory/history/history_registry.h"
#include "loci/sample/solvers/solver.h"
#include "loci/sample/stream/stream_options.h"

namespace loci::app {

namespace {

void add_source(CLI::App& app, GenerateOptions& o) {
  app.add_option("--model", o.model, "model folder")->type_name("DIR")->required();
  app.add_option("--decoder", o.decoder, decoder_help())->type_name("FILE");
  app.add_option("--image", o.image, "first frame; it is resized and cropped to the frame size")
      ->type_name("FILE");
  app.add_option(
         "--context", o.context,
         "folder with one recording (video and cameras); its beginning is the recorded context")
      ->type_name("DIR");
  app.add_option(
         "--context-seconds", o.context_seconds,
         "length of the context in seconds, rounded down to whole chunks (default: half of the "
         "recording)")
      ->type_name("S")
      ->check(number_in(0.0, 36000.0));
  app.add_flag("--keep-context", o.keep_context,
               "write the decoded context before the generated frames");
  app.add_option("--load-world", o.load_world, "continue a saved world")->type_name("FILE");
  app.add_option("--trajectory", o.trajectory,
                 "camera trajectory: file, folder, preset, or key string such as w-32,left-16")
      ->type_name("PATH");
  app.add_option("--prompt", o.prompt, "text prompt")->type_name("TEXT");
  app.add_option("--negative", o.negative, "negative prompt; used with --guidance other than 1")
      ->type_name("TEXT");
}

void add_shape(CLI::App& app, GenerateOptions& o) {
  app.add_option(
         "--seconds", o.seconds,
         "generated length in seconds, rounded up to whole chunks (default: the trajectory's)")
      ->type_name("S")
      ->check(number_in(0.001, 360000.0));
  app.add_option("--size", o.size, "frame size in pixels (default: the model's)")->type_name("WxH");
  app.add_option(
         "--tile", o.tile,
         "decode in square tiles of this side, a multiple of the latent size; 0 = whole frames")
      ->type_name("PIXELS")
      ->check(CLI::Range(0, 1 << 14));
  app.add_option("--fov", o.fov,
                 "horizontal field of view in degrees for trajectories without lenses")
      ->type_name("DEG")
      ->check(number_in(1.0, 179.0));
}

// All history policies with their descriptions.
std::string history_help() {
  std::vector<std::string> kinds;
  for (const memory::HistoryKind& kind : memory::history_kinds()) {
    kinds.push_back(fmt::format("{}: {}", kind.name, kind.description));
  }
  return fmt::format(
      "history policy: which past frames a chunk attends to (default: the model's)\n{}",
      fmt::join(kinds, "\n"));
}

void add_sampling(CLI::App& app, GenerateOptions& o) {
  app.add_option("--history", o.history, history_help())->check(one_of(memory::history_names()));
  app.add_option(
         "--history-frames", o.history_frames,
         "maximum number of retained frames, excluding the current chunk (default: the model's)")
      ->type_name("N");
  app.add_option("--archive", o.archive,
                 "maximum number of frames kept for retrieval; 0 = all (default: the model's)")
      ->type_name("N");
  app.add_option("--kv", o.kv, "storage format of keys and values")
      ->check(one_of(memory::kv_format_names()));
  app.add_option("--staging", o.staging_mib,
                 "maximum memory in MiB for keys and values converted in advance; 0 = no limit")
      ->type_name("MIB")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--readout", o.readout, "readout of the recurrent state, for ablations")
      ->check(one_of(sample::readout_names()));
  app.add_option("--solver", o.solver, "ODE solver (default: the model's)")
      ->check(one_of(sample::solver_names()));
  app.add_option("--steps", o.steps, "number of denoising steps (default: the model's)")
      ->type_name("N");
  app.add_option(
         "--shift", o.shift,
         "timestep shift; values above 1 spend more steps at high noise levels (default: the "
         "model's)")
      ->type_name("X")
      ->check(number_in(1e-3, 1000));
  app.add_option(
         "--guidance", o.guidance,
         "classifier-free guidance scale; 1 = none, other values double the cost (default: the "
         "model's)")
      ->type_name("X")
      ->check(number_in(0, 100));
  app.add_option("--seed", o.seed, "seed of the noise")->type_name("N")->check(seed_number());
  app.add_option("--dtype", o.dtype, "data type of the transformer's computation")
      ->check(one_of({"fp32", "bf16"}))
      ->capture_default_str();
}

}  // namespace

void add_generate(CLI::App& app) {
  app.description("Generate a video of any length along a camera trajectory, chunk by chunk");
  auto o = std::make_shared<GenerateOptions>();
  add_source(app, *o);
  add_shape(app, *o);
  add_sampling(app, *o);
  app.add_option("--out", o->out, "video file (.mp4) or folder of pictures to write")
      ->type_name("FILE")
      ->required();
  app.add_option("--save-world", o->save_world,
                 "save the world at the end; --load-world continues it")
      ->type_name("FILE");
  app.add_flag("--preview", o->preview,
               "update OUT.preview.jpg, a contact sheet of the frames, after every chunk");
  app.add_flag("--resume", o->resume, "continue an interrupted run with the same options");
  examples(app,
           {{"loci generate --model models/mini --image town.png --trajectory look_around --out "
             "town.mp4",
             "look around from a picture"},
            {"loci generate --model models/mini --image a.png --trajectory w-64,left-32 --prompt "
             "\"a desert at noon\" --seconds 20 --seed 3 --out a.mp4 --save-world a.world",
             "move by keys and save the world"},
            {"loci generate --model models/mini --load-world a.world --trajectory right-80 --out "
             "b.mp4",
             "continue the saved world"},
            {"loci generate --model models/mini --context clips/000000 --out c.mp4",
             "continue a recording along its own trajectory"}});
  app.callback([o] { generate(*o); });
}

}  // namespace loci::app
