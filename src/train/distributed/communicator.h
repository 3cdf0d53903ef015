// SPDX-License-Identifier: Apache-2.0
// Communication between the ranks of a training job. A job of one rank uses no network.
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

  // Works in place, on contiguous tensors of the CPU or of the job's device. If a rank is lost or
  // does not respond for a minute, the others throw a machine error.
  void all_reduce_mean(at::Tensor tensor) { start_all_reduce_mean(std::move(tensor))(); }
  // Starts the operation and returns immediately. The returned function waits for its end; the
  // tensor must not be used before. All ranks must start operations in the same order.
  virtual std::function<void()> start_all_reduce_mean(at::Tensor tensor) = 0;
  virtual void broadcast(at::Tensor tensor, int root) = 0;

  // Runs `work` on the leader only, while the other ranks wait, however long it takes; for example
  // to write a checkpoint. Every rank must call it. With several ranks the work runs in a thread of
  // its own. Exceptions of the work are thrown here, on the leader.
  void as_leader(const std::function<void()>& work);
};

std::unique_ptr<Communicator> make_single_communicator();

// Reads the environment variables of torchrun and Slurm: RANK, WORLD_SIZE, MASTER_ADDR,
// MASTER_PORT. If WORLD_SIZE is absent or 1, the job has one rank. Collectives use gloo for CPU
// tensors and NCCL for tensors of a CUDA `device`.
std::unique_ptr<Communicator> make_communicator_from_environment(at::Device device = at::kCPU);

// The device of a recipe: "cpu", or "cuda", which means the CUDA device with the number LOCAL_RANK
// (0 if unset). A device that libtorch does not find is bad input.
at::Device training_device(const std::string& name);

}  // namespace loci::train
