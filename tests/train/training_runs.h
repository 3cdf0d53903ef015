// SPDX-License-Identifier: Apache-2.0
// A training task together with its loop.
#pragma once

#include <filesystem>

#include "loci/train/autoencoder/vae_task.h"
#include "loci/train/loop/training_loop.h"
#include "loci/train/transformer/transformer_task.h"

namespace loci::train {

struct TransformerRun {
  TransformerRun(const TransformerRecipe& recipe, const std::filesystem::path& folder, bool resume,
                 Communicator& communicator)
      : task(recipe, communicator), loop(recipe.loop, task, folder, resume, communicator) {}

  TransformerTask task;
  TrainingLoop loop;
};

struct VaeRun {
  VaeRun(const VaeRecipe& recipe, const std::filesystem::path& folder, bool resume,
         Communicator& communicator)
      : task(recipe, folder, communicator), loop(recipe.loop, task, folder, resume, communicator) {}

  VaeTask task;
  TrainingLoop loop;
};

}  // namespace loci::train
