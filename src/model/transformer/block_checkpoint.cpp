// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/block_checkpoint.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "loci/base/error.h"

namespace loci::model {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The inputs of the backward pass that are not tensors; owned by the autograd graph.
struct Recipe : torch::CustomClassHolder {
  const Block* block;
  std::shared_ptr<const PassPlan> plan;
};

// The nested backward pass computes the gradients of the block's parameters. `anchor` requires a
// gradient, so that the node is part of the graph even if no other input requires one.
struct CheckpointFunction : torch::autograd::Function<CheckpointFunction> {
  static at::Tensor forward(AutogradContext* graph, const at::Tensor& x,
                            const at::Tensor& modulation, const at::Tensor& text_key,
                            const at::Tensor& text_value, const at::Tensor& anchor,
                            const c10::intrusive_ptr<Recipe>& recipe, const Observers* observers,
                            at::Tensor* state) {
    (void)anchor;
    graph->save_for_backward({x, modulation, text_key, text_value});
    graph->saved_data["recipe"] = at::IValue::make_capsule(recipe);
    const at::NoGradGuard no_grad;
    return (*recipe->block)(x, modulation, *recipe->plan, *observers, {text_key, text_value},
                            *state);
  }

  static variable_list backward(AutogradContext* graph, const variable_list& gradients) {
    const auto recipe =
        c10::static_intrusive_pointer_cast<Recipe>(graph->saved_data["recipe"].toCapsule());
    variable_list inputs;
    for (const at::Tensor& saved : graph->get_saved_variables()) {
      inputs.push_back(saved.detach().set_requires_grad(saved.requires_grad()));
    }
    at::Tensor out;
    {
      const at::AutoGradMode with_grad(true);
      at::Tensor state;
      out = (*recipe->block)(inputs[0], inputs[1], *recipe->plan, /*observers=*/{},
                             {inputs[2], inputs[3]}, state);
    }
    torch::autograd::backward({out}, {gradients[0]});
    variable_list result;
    for (const at::Tensor& input : inputs) result.push_back(input.grad());
    result.resize(8);  // anchor, recipe, observers and state have no gradient
    return result;
  }
};

}  // namespace

at::Tensor checkpointed_block(const Block& block, const at::Tensor& x, const at::Tensor& modulation,
                              const std::shared_ptr<const PassPlan>& plan,
                              const Observers& observers, const TextKeys::Entry& text,
                              at::Tensor& state) {
  LOCI_CHECK(!state.defined(), "a checkpointed block starts from the zero state");
  LOCI_CHECK(plan->store == nullptr, "a checkpointed block would store its keys twice");
  auto recipe = c10::make_intrusive<Recipe>();
  recipe->block = &block;
  recipe->plan = plan;
  const at::Tensor anchor = at::empty({0}, x.options()).set_requires_grad(true);
  return CheckpointFunction::apply(x, modulation, text.key, text.value, anchor, recipe, &observers,
                                   &state);
}

}  // namespace loci::model
