// SPDX-License-Identifier: Apache-2.0
#include "loci/train/distributed/communicator.h"

#include <cstdlib>
#include <future>

#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/train/distributed/nccl_group.h"

namespace loci::train {

namespace {

constexpr std::chrono::seconds kTimeout{55};    // of a collective
constexpr std::chrono::seconds kHeartbeat{10};  // while the leader works alone

class SingleCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::function<void()> start_all_reduce_mean(at::Tensor) override {
    return [] {};
  }
  void broadcast(at::Tensor, int) override {}
};

class GroupCommunicator : public Communicator {
 public:
  GroupCommunicator(int rank, int size, const std::string& address, int port, at::Device device)
      : rank_(rank), size_(size) {
    try {
      c10d::TCPStoreOptions options;
      options.isServer = rank == 0;
      options.port = static_cast<uint16_t>(port);
      options.numWorkers = size;
      options.timeout = kTimeout;
      auto store = c10::make_intrusive<c10d::TCPStore>(address, options);
      auto gloo = c10d::ProcessGroupGloo::Options::create();
      gloo->timeout = kTimeout;
      gloo->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
      host_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, gloo);
      if (device.is_cuda()) {
        device_ = make_nccl_group(c10::make_intrusive<c10d::PrefixStore>("device", store), rank,
                                  size, kTimeout);
      }
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      fail_machine("rank {} of {} cannot connect to the leader at {}:{}: {}", rank, size, address,
                   port, first_line(error.what()));
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::function<void()> start_all_reduce_mean(at::Tensor tensor) override {
    std::vector<at::Tensor> tensors{tensor};
    const c10::intrusive_ptr<c10d::Work> work =
        started([&] { return group_of(tensor).allreduce(tensors); });
    return [this, work, tensor]() mutable {
      wait(*work);
      tensor.div_(size_);
    };
  }

  void broadcast(at::Tensor tensor, int root) override {
    std::vector<at::Tensor> tensors{tensor};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    wait(*started([&] { return group_of(tensor).broadcast(tensors, options); }));
  }

 private:
  c10d::Backend& group_of(const at::Tensor& tensor) {
    return tensor.is_cpu() ? static_cast<c10d::Backend&>(*host_) : *device_;
  }
  template <typename Start>
  c10::intrusive_ptr<c10d::Work> started(Start start) {
    try {
      return start();
    } catch (const std::exception& error) {
      lost(error);
    }
  }
  void wait(c10d::Work& work) {
    try {
      work.wait();
    } catch (const std::exception& error) {
      lost(error);
    }
  }
  [[noreturn]] void lost(const std::exception& error) {
    fail_machine("rank {} lost the connection to another rank: {}; restart the job with --resume",
                 rank_, first_line(error.what()));
  }
  static std::string first_line(std::string_view text) {
    return std::string(text.substr(0, text.find('\n')));
  }

  int rank_, size_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> host_;
  c10::intrusive_ptr<c10d::Backend> device_;  // null if the job runs on the CPU
};

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

int environment_number(const char* name, int64_t low, int64_t high) {
  const std::optional<std::string> text = environment(name);
  if (!text)
    fail("WORLD_SIZE is set but {} is not; start the ranks with torchrun or --ranks", name);
  const std::optional<int64_t> number = parse_int(*text);
  if (!number || *number < low || *number > high) {
    fail("{} is '{}'; expected a number from {} to {}", name, *text, low, high);
  }
  return static_cast<int>(*number);
}

}  // namespace

void Communicator::as_leader(const std::function<void()>& work) {
  if (size() == 1) return work();
  std::future<void> done;
  if (leader()) done = std::async(std::launch::async, work);
  for (bool busy = true; busy;) {
    const bool more = leader() && done.wait_for(kHeartbeat) != std::future_status::ready;
    at::Tensor shared = at::full({1}, more ? 1.0 : 0.0, at::kDouble);
    all_reduce_mean(shared);
    busy = shared.item<double>() > 0;
  }
  if (leader()) done.get();
}

std::unique_ptr<Communicator> make_single_communicator() {
  return std::make_unique<SingleCommunicator>();
}

std::unique_ptr<Communicator> make_communicator_from_environment(at::Device device) {
  if (!environment("WORLD_SIZE")) return make_single_communicator();
  const int size = environment_number("WORLD_SIZE", 1, 100000);
  if (size == 1) return make_single_communicator();
  const int rank = environment_number("RANK", 0, size - 1);
  const int port = environment_number("MASTER_PORT", 1, 65535);
  return std::make_unique<GroupCommunicator>(
      rank, size, environment("MASTER_ADDR").value_or("127.0.0.1"), port, device);
}

at::Device training_device(const std::string& name) {
  if (name == "cpu") return at::kCPU;
  const int number = environment("LOCAL_RANK") ? environment_number("LOCAL_RANK", 0, 127) : 0;
  const int count = at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
  if (number >= count) {
    fail("CUDA device {} does not exist: libtorch finds {} devices; set device to \"cpu\"", number,
         count);
  }
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(number));
}

}  // namespace loci::train
