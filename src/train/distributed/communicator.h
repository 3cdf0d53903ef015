// SPDX-License-Identifier: Apache-2.0
// The ranks of a training job. One process alone is a job of one rank, without any network.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

namespace loci::train {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool leader() const { return rank() == 0; }

  // In place, on contiguous tensors of the CPU or of the job's device. A lost or silent rank is a
  // machine error after a minute.
  void all_reduce_mean(at::Tensor tensor) { start_all_reduce_mean(std::move(tensor))(); }
  // Begins and returns at once; the tensor must be left alone until the returned function, which
  // waits for the end, was called. Ranks must begin in the same order.
  virtual std::function<void()> start_all_reduce_mean(at::Tensor tensor) = 0;
  virtual void broadcast(at::Tensor tensor, int root) = 0;

  // Work of the leader alone, such as writing a checkpoint, which may take longer than a silent
  // rank is waited for: meanwhile it tells the others that it lives. It runs in a thread of its own
  // when there are others. What it throws is thrown here, in the leader.
  void as_leader(const std::function<void()>& work);
};

std::unique_ptr<Communicator> make_single_communicator();

// By the environment of torchrun and Slurm launchers: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
// Without WORLD_SIZE, or with 1, a job of one rank. Tensors of the CPU travel by gloo, those of a
// CUDA `device` by NCCL.
std::unique_ptr<Communicator> make_communicator_from_environment(at::Device device = at::kCPU);

// The device of a recipe: "cpu", or "cuda", of which this process takes number LOCAL_RANK (0 when
// it is not set). Bad input when libtorch has none of that number.
at::Device training_device(const std::string& name);

}  // namespace loci::train
