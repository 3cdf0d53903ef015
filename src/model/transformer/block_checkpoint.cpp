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

// What the backward pass needs besides tensors; held by the graph.
struct Recipe : torch::CustomClassHolder {
  const Block* block;
  ForwardContext context;  // a copy: the caller's is gone when the backward pass runs
  at::ScalarType compute;
};

// Parameters of the block get their gradients from the nested backward pass; `anchor` only makes
// the node part of the graph even when x needs no gradient.
struct CheckpointFunction : torch::autograd::Function<CheckpointFunction> {
  static at::Tensor forward(AutogradContext* graph, const at::Tensor& x,
                            const at::Tensor& modulation, const at::Tensor& text_key,
                            const at::Tensor& text_value, const at::Tensor& anchor,
                            const c10::intrusive_ptr<Recipe>& recipe, at::Tensor* state) {
    (void)anchor;
    graph->save_for_backward({x, modulation, text_key, text_value});
    graph->saved_data["recipe"] = at::IValue::make_capsule(recipe);
    const at::NoGradGuard no_grad;
    return (*recipe->block)(x, modulation, recipe->compute, recipe->context, {text_key, text_value},
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
      out = (*recipe->block)(inputs[0], inputs[1], recipe->compute, recipe->context,
                             {inputs[2], inputs[3]}, state);
    }
    torch::autograd::backward({out}, {gradients[0]});
    variable_list result;
    for (const at::Tensor& input : inputs) result.push_back(input.grad());
    result.resize(7);  // anchor, recipe and state have none
    return result;
  }
};

}  // namespace

at::Tensor checkpointed_block(const Block& block, const at::Tensor& x, const at::Tensor& modulation,
                              at::ScalarType compute, const ForwardContext& context,
                              const TextKeys::Entry& text, at::Tensor& state) {
  LOCI_CHECK(!state.defined(), "a checkpointed block starts from the zero state");
  LOCI_CHECK(context.store == nullptr, "a checkpointed block would store its keys twice");
  auto recipe = c10::make_intrusive<Recipe>();
  recipe->block = &block;
  recipe->context = context;
  recipe->compute = compute;
  const at::Tensor anchor = at::empty({0}, x.options()).set_requires_grad(true);
  return CheckpointFunction::apply(x, modulation, text.key, text.value, anchor, recipe, &state);
}

}  // namespace loci::model
