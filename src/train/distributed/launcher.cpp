// SPDX-License-Identifier: Apache-2.0
#include "loci/train/distributed/launcher.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"

namespace loci::train {

namespace {

// Time for the other ranks to end after a rank has failed.
constexpr std::chrono::seconds kGrace{10};

// A port on which no process listens at the moment.
int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool bound =
      descriptor >= 0 &&
      ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!bound) fail_machine("no free port on the loopback interface: {}", std::strerror(error));
  return ntohs(address.sin_port);
}

pid_t start_rank(int rank, int ranks, int port, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"loci"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) fail_machine("cannot start rank {}: {}", rank, std::strerror(errno));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // ranks do not outlive the launcher
    ::setenv("RANK", std::to_string(rank).c_str(), 1);
    ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
    ::setenv("MASTER_ADDR", "127.0.0.1", 1);
    ::setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
    ::setenv("OMP_NUM_THREADS", "1", 0);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  return child;
}

}  // namespace

int run_local_ranks(int ranks, const std::vector<std::string>& arguments) {
  const int port = free_port();
  std::map<pid_t, int> running;
  for (int rank = 0; rank < ranks; ++rank) {
    running[start_rank(rank, ranks, port, arguments)] = rank;
  }
  const auto signal_all = [&](int signal) {
    for (const auto& [process, rank] : running) ::kill(process, signal);
  };
  int result = 0;
  bool signalled = false;
  std::chrono::steady_clock::time_point deadline;
  while (!running.empty()) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended > 0 && running.contains(ended)) {
      const int rank = running[ended];
      running.erase(ended);
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      if (code != 0 && result == 0) {
        result = code;
        if (!interrupted()) {
          log_error("rank {} ended with {}; stopping the others", rank,
                    WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                        : fmt::format("exit code {}", code));
        }
        deadline = std::chrono::steady_clock::now() + kGrace;
        if (!signalled) signal_all(SIGTERM);
        signalled = true;
      }
      continue;
    }
    if (interrupted() && !signalled) {
      signal_all(SIGTERM);
      signalled = true;
    }
    // After an interrupt the leader may still be writing its checkpoint.
    if (result != 0 && !interrupted() && std::chrono::steady_clock::now() > deadline) {
      signal_all(SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return result;
}

}  // namespace loci::train
