// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include "loci/base/error.h"
#include "loci/kernels/delta_rule/delta_rule.h"
#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

namespace {

// The number of channels of a head must be a multiple of the widest kernel tile.
constexpr int64_t kDeltaChannelStep = 32;

struct DeltaInputs {
  at::Tensor state, query, key, value, beta, retention;
};

void check(const DeltaInputs& in, const DeltaChunks& chunks) {
  LOCI_CHECK(in.state.dim() == 4 && in.key.dim() == 4 && in.value.dim() == 4 && in.beta.dim() == 3,
             "expected state [B, H, K, V], key [B, N, H, K], value [B, N, H, V], beta [B, N, H]");
  const int64_t batch = in.state.size(0), heads = in.state.size(1), tokens = in.key.size(1);
  LOCI_CHECK(in.key.sizes() == at::IntArrayRef({batch, tokens, heads, in.state.size(2)}) &&
                 in.value.sizes() == at::IntArrayRef({batch, tokens, heads, in.state.size(3)}) &&
                 in.beta.sizes() == at::IntArrayRef({batch, tokens, heads}) &&
                 (!in.query.defined() || in.query.sizes() == in.key.sizes()),
             "state, query, key, value and beta have inconsistent sizes");
  int64_t begin = 0;
  for (const int64_t end : chunks.ends) {
    LOCI_CHECK(end > begin, "a chunk ends at token {} but starts at token {}", end, begin);
    begin = end;
  }
  LOCI_CHECK(begin == tokens, "the chunks cover {} of {} tokens", begin, tokens);
  const int64_t written = std::ssize(chunks.ends) - (chunks.write_last ? 0 : 1);
  LOCI_CHECK(!in.retention.defined() ||
                 in.retention.sizes() == at::IntArrayRef({batch, written, heads, in.state.size(2)}),
             "retention must be [B, {} chunks, H, K]", written);
}

bool delta_kernel_applies(const DeltaInputs& in) {
  for (const at::Tensor* x : {&in.state, &in.query, &in.key, &in.value, &in.beta, &in.retention}) {
    if (x->defined() && !(x->is_cpu() && x->scalar_type() == at::kFloat)) return false;
  }
  return in.state.size(2) % kDeltaChannelStep == 0 && in.state.size(3) % kDeltaChannelStep == 0;
}

// The results of the forward pass that the gradient needs.
struct DeltaRecord {
  at::Tensor error;  // [B, N, H, V]
  at::Tensor
      states;  // [chunks, B, H, K, V], before each chunk; undefined for the write of a single chunk
};

// The work of one head of one sample. `end` is the state after the last chunk.
delta_rule_kernels::Work head_work(const DeltaInputs& in, const at::Tensor& end,
                                   const DeltaRecord& record, double read_scale, int64_t sample,
                                   int64_t head) {
  delta_rule_kernels::Work work{};
  const int64_t heads = end.size(1), tokens = in.key.size(1);
  work.keys = end.size(2);
  work.values = end.size(3);
  const int64_t first = sample * tokens * heads + head, group = sample * heads + head;
  work.key_stride = heads * work.keys;
  work.value_stride = heads * work.values;
  work.beta_stride = heads;
  if (in.query.defined()) work.query = in.query.const_data_ptr<float>() + first * work.keys;
  work.key = in.key.const_data_ptr<float>() + first * work.keys;
  work.value = in.value.const_data_ptr<float>() + first * work.values;
  work.beta = in.beta.const_data_ptr<float>() + first;
  work.read_scale = static_cast<float>(read_scale);
  const int64_t size = work.keys * work.values;
  if (in.state.defined()) work.state = in.state.const_data_ptr<float>() + group * size;
  if (record.error.defined()) {
    work.error = record.error.mutable_data_ptr<float>() + first * work.values;
  }
  if (record.states.defined()) {
    work.chunk_state = record.states.mutable_data_ptr<float>() + group * size;
    work.chunk_state_stride = record.states.stride(0);
  }
  work.end_state = end.mutable_data_ptr<float>() + group * size;
  return work;
}

std::vector<delta_rule_kernels::Chunk> head_chunks(const DeltaInputs& in, const DeltaChunks& chunks,
                                                   int64_t sample, int64_t head) {
  std::vector<delta_rule_kernels::Chunk> all;
  int64_t begin = 0;
  for (size_t i = 0; i < chunks.ends.size(); ++i) {
    delta_rule_kernels::Chunk chunk{};
    chunk.begin = begin;
    chunk.end = begin = chunks.ends[i];
    chunk.writes = i + 1 < chunks.ends.size() || chunks.write_last;
    if (in.retention.defined() && chunk.writes) {
      const at::IntArrayRef strides = in.retention.strides();
      chunk.retention = in.retention.const_data_ptr<float>() + sample * strides[0] +
                        static_cast<int64_t>(i) * strides[1] + head * strides[2];
    }
    all.push_back(chunk);
  }
  return all;
}

// Calls run(sample, head, scratch) for every head of every sample.
template <typename Run>
void for_each_head(const at::Tensor& state, const Run& run) {
  const int64_t heads = state.size(1);
  at::parallel_for(0, state.size(0) * heads, 1, [&](int64_t first, int64_t last) {
    const auto scratch = std::make_unique_for_overwrite<float[]>(
        delta_rule_kernels::scratch_size(state.size(2), state.size(3)));
    for (int64_t task = first; task < last; ++task) run(task / heads, task % heads, scratch.get());
  });
}

// The inputs are contiguous and delta_kernel_applies().
DeltaPass run(const DeltaInputs& in, const DeltaChunks& chunks, double read_scale,
              const DeltaRecord& record) {
  DeltaPass pass;
  if (in.query.defined()) pass.read = at::empty_like(in.value);
  pass.state = at::empty_like(in.state);
  const auto forward = kernel_table().delta_rule.forward;
  for_each_head(in.state, [&](int64_t sample, int64_t head, float* scratch) {
    const auto parts = head_chunks(in, chunks, sample, head);
    delta_rule_kernels::Work work = head_work(in, pass.state, record, read_scale, sample, head);
    if (pass.read.defined()) {
      work.read = pass.read.mutable_data_ptr<float>() +
                  (sample * in.key.size(1) * in.state.size(1) + head) * work.values;
    }
    work.chunks = parts.data();
    work.chunk_count = std::ssize(parts);
    work.scratch = scratch;
    forward(work);
  });
  return pass;
}

// `end` is the state after the forward pass. Gradients of outputs may be undefined.
DeltaInputs run_back(const DeltaInputs& in, const DeltaChunks& chunks, double read_scale,
                     const DeltaRecord& record, const at::Tensor& end, const at::Tensor& grad_read,
                     const at::Tensor& grad_state) {
  DeltaInputs gradients;
  gradients.state = at::empty_like(end);
  // The gradient of tokens that are not written is zero.
  gradients.key = at::zeros_like(in.key);
  gradients.value = at::zeros_like(in.value);
  gradients.beta = at::zeros_like(in.beta);
  if (in.query.defined()) {
    gradients.query = grad_read.defined() ? at::empty_like(in.query) : at::zeros_like(in.query);
  }
  if (in.retention.defined()) gradients.retention = at::empty_like(in.retention);
  const at::Tensor read = grad_read.defined() ? grad_read.contiguous() : at::Tensor();
  const at::Tensor last = grad_state.defined() ? grad_state.contiguous() : at::Tensor();
  const auto backward = kernel_table().delta_rule.backward;
  for_each_head(end, [&](int64_t sample, int64_t head, float* scratch) {
    const auto parts = head_chunks(in, chunks, sample, head);
    delta_rule_kernels::Work work = head_work(in, end, record, read_scale, sample, head);
    work.chunks = parts.data();
    work.chunk_count = std::ssize(parts);
    work.scratch = scratch;
    const int64_t first = sample * in.key.size(1) * end.size(1) + head;
    const int64_t state_offset = (sample * end.size(1) + head) * work.keys * work.values;
    delta_rule_kernels::Gradients to{};
    if (read.defined()) to.read = read.const_data_ptr<float>() + first * work.values;
    if (last.defined()) to.end_state = last.const_data_ptr<float>() + state_offset;
    if (in.query.defined()) {
      to.query = gradients.query.mutable_data_ptr<float>() + first * work.keys;
    }
    to.key = gradients.key.mutable_data_ptr<float>() + first * work.keys;
    to.value = gradients.value.mutable_data_ptr<float>() + first * work.values;
    to.beta = gradients.beta.mutable_data_ptr<float>() + first;
    if (in.retention.defined()) {
      const at::IntArrayRef strides = gradients.retention.strides();
      to.retention =
          gradients.retention.mutable_data_ptr<float>() + sample * strides[0] + head * strides[2];
      to.retention_stride = strides[1];
    }
    to.state = gradients.state.mutable_data_ptr<float>() + state_offset;
    backward(work, to);
  });
  return gradients;
}

// autograd::Function does not accept undefined tensors; an empty tensor stands for them.
at::Tensor or_nothing(const at::Tensor& x, const at::Tensor& like) {
  return x.defined() ? x : at::empty({0}, like.options());
}
at::Tensor or_undefined(const at::Tensor& x) { return x.dim() == 1 ? at::Tensor() : x; }

struct HeldChunks : torch::CustomClassHolder {
  DeltaChunks chunks;
  double read_scale = 1;
};

class RunChunks : public torch::autograd::Function<RunChunks> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const at::Tensor& state,
                                                const at::Tensor& query_or_nothing,
                                                const at::Tensor& key, const at::Tensor& value,
                                                const at::Tensor& beta,
                                                const at::Tensor& retention_or_nothing,
                                                const c10::intrusive_ptr<HeldChunks>& held) {
    const at::Tensor query = or_undefined(query_or_nothing);
    const at::Tensor retention = or_undefined(retention_or_nothing);
    DeltaRecord record{at::empty_like(value), {}};
    const int64_t count = std::ssize(held->chunks.ends);
    if (query.defined() || retention.defined() || count > 1) {
      record.states = at::empty({count, state.size(0), state.size(1), state.size(2), state.size(3)},
                                state.options());
    }
    const DeltaPass pass =
        run({state, query, key, value, beta, retention}, held->chunks, held->read_scale, record);
    context->save_for_backward(
        {query, key, value, beta, retention, record.error, record.states, pass.state});
    context->saved_data["chunks"] = c10::IValue::make_capsule(held);
    context->set_materialize_grads(false);
    return {or_nothing(pass.read, state), pass.state};
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto capsule = context->saved_data["chunks"].toCapsule();
    const auto& held = static_cast<const HeldChunks&>(*capsule);
    const DeltaInputs found =
        run_back({{}, saved[0], saved[1], saved[2], saved[3], saved[4]}, held.chunks,
                 held.read_scale, {saved[5], saved[6]}, saved[7],
                 saved[0].defined() ? gradients[0] : at::Tensor(), gradients[1]);
    return {found.state, found.query,     found.key,   found.value,
            found.beta,  found.retention, at::Tensor()};
  }
};

}  // namespace

DeltaPass delta_chunks_by_libtorch(const at::Tensor& state, const at::Tensor& query,
                                   const at::Tensor& key, const at::Tensor& value,
                                   const at::Tensor& beta, const at::Tensor& retention,
                                   const DeltaChunks& chunks, double read_scale) {
  check({state, query, key, value, beta, retention}, chunks);
  // [B, N, H, X] → [B*H, N, X]
  const auto folded = [](const at::Tensor& x) { return x.transpose(1, 2).flatten(0, 1); };
  const at::Tensor q = query.defined() ? folded(query) : at::Tensor();
  const at::Tensor k = folded(key), v = folded(value), b = folded(beta);
  at::Tensor current = state.flatten(0, 1);
  std::vector<at::Tensor> reads;
  int64_t begin = 0;
  for (size_t i = 0; i < chunks.ends.size(); ++i) {
    const int64_t end = chunks.ends[i];
    if (q.defined()) reads.push_back(at::bmm(q.slice(1, begin, end), current) * read_scale);
    if (i + 1 < chunks.ends.size() || chunks.write_last) {
      if (retention.defined()) {
        current =
            current * retention.select(1, static_cast<int64_t>(i)).flatten(0, 1).unsqueeze(-1);
      }
      current = delta_write_by_libtorch(current, k.slice(1, begin, end), v.slice(1, begin, end),
                                        b.slice(1, begin, end));
    }
    begin = end;
  }
  DeltaPass pass;
  if (q.defined()) {
    pass.read = at::cat(reads, 1).unflatten(0, {state.size(0), state.size(1)}).transpose(1, 2);
  }
  pass.state = current.view(state.sizes());
  return pass;
}

DeltaPass delta_chunks(const at::Tensor& state, const at::Tensor& query, const at::Tensor& key,
                       const at::Tensor& value, const at::Tensor& beta, const at::Tensor& retention,
                       const DeltaChunks& chunks, double read_scale) {
  const DeltaInputs given{state, query, key, value, beta, retention};
  check(given, chunks);
  if (!delta_kernel_applies(given)) {
    return delta_chunks_by_libtorch(state, query, key, value, beta, retention, chunks, read_scale);
  }
  DeltaInputs in;
  bool differentiate = false;
  const auto take = [&](const at::Tensor& from, at::Tensor& to) {
    if (!from.defined()) return;
    to = from.contiguous();
    differentiate = differentiate || to.requires_grad();
  };
  take(state, in.state);
  take(query, in.query);
  take(key, in.key);
  take(value, in.value);
  take(beta, in.beta);
  take(retention, in.retention);
  if (!differentiate || !at::GradMode::is_enabled()) return run(in, chunks, read_scale, {});
  auto held = c10::make_intrusive<HeldChunks>();
  held->chunks = chunks;
  held->read_scale = read_scale;
  const torch::autograd::variable_list out =
      RunChunks::apply(in.state, or_nothing(in.query, in.state), in.key, in.value, in.beta,
                       or_nothing(in.retention, in.state), held);
  return {in.query.defined() ? out[0] : at::Tensor(), out[1]};
}

}  // namespace loci::kernels
