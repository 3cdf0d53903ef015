// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD that shifts the time of day by the number of seconds in the file
// $LOCI_TEST_CLOCK. The file is read at every call. The monotonic clock is unchanged.
#include <dlfcn.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

long offset() {
  static const char* const file = std::getenv("LOCI_TEST_CLOCK");
  long seconds = 0;
  if (file == nullptr) return seconds;
  if (std::FILE* const opened = std::fopen(file, "r")) {
    if (std::fscanf(opened, "%ld", &seconds) != 1) seconds = 0;
    std::fclose(opened);
  }
  return seconds;
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static auto* const next = real<int(clockid_t, timespec*)>("clock_gettime");
  const int result = next(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += offset();
  return result;
}

extern "C" time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

extern "C" int gettimeofday(timeval* __restrict now, void* __restrict zone) noexcept {
  static auto* const next = real<int(timeval*, void*)>("gettimeofday");
  const int result = next(now, zone);
  now->tv_sec += offset();
  return result;
}
