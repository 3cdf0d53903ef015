// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/cost/stream_cost.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include <ATen/ATen.h>

#include "loci/base/interrupt.h"
#include "loci/base/machine.h"
#include "loci/base/progress.h"
#include "loci/camera/pose.h"
#include "loci/sample/stream/stream.h"

namespace loci::eval {

namespace {

// Camera on a circle with a radius of 8 m at 1 m/s that looks ahead and swings to the sides.
camera::Pose circle_pose(double t) {
  const double angle = t / 8;
  return {camera::rotation_from_angles(angle + 0.4 * std::sin(t / 3), 0),
          {8 * (1 - std::cos(angle)), 0, 8 * std::sin(angle)}};
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

std::vector<StreamCost> measure_stream(const model::Transformer& transformer,
                                       const sample::StreamOptions& options,
                                       std::span<const double> lengths, const std::string& title,
                                       double latents_per_second) {
  using Clock = std::chrono::steady_clock;
  const model::TransformerConfig& config = transformer.config();
  malloc_trim(0);
  reset_peak_memory();
  sample::Stream stream(transformer, nullptr, options, {});
  const std::vector<camera::Camera> origin = {{circle_pose(0), {}}};
  stream.accept(at::randn({1, config.channels, 1, options.latent_height, options.latent_width}),
                origin);
  const auto time = [&](int64_t latent) {
    return static_cast<double>(latent) / latents_per_second;
  };
  const double chunk_video = time(config.chunk_size);
  const auto total = static_cast<uint64_t>(std::ceil(lengths.back() / chunk_video));
  Progress progress(title, total, "chunks");
  std::vector<StreamCost> rows;
  std::vector<double> times, processor;
  for (const double seconds : lengths) {
    while (time(stream.frames() - 1) < seconds) {
      check_interrupt();
      std::vector<camera::Camera> cameras;
      for (int64_t i = 0; i < stream.next_size(); ++i) {
        cameras.push_back({circle_pose(time(stream.frames() + i)), {}});
      }
      const auto started = Clock::now();
      const std::clock_t processor_started = std::clock();
      stream.push(cameras);
      stream.commit();
      times.push_back(std::chrono::duration<double>(Clock::now() - started).count());
      processor.push_back(static_cast<double>(std::clock() - processor_started) / CLOCKS_PER_SEC);
      progress.advance();
    }
    if (times.empty()) continue;
    const ProcessMemory held = process_memory().value_or(ProcessMemory());
    rows.push_back({time(stream.frames() - 1), stream.frames(), median(times), median(processor),
                    static_cast<uint64_t>(stream.history_bytes()), held.now, held.peak});
    times.clear();
    processor.clear();
  }
  return rows;
}

}  // namespace loci::eval
