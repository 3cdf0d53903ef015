# SPDX-License-Identifier: Apache-2.0
"""Writes bootstrap.json: means and 95 % intervals computed by numpy. Clips are drawn by the generator of
loci (SplitMix64), so that both use the same resamples. Needs numpy.
"""

import json
import pathlib

import numpy as np

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


class SplitMix:
    def __init__(self, seed):
        self.state = mix((GOLDEN + GOLDEN + seed) & MASK)

    def below(self, count):
        limit = (1 << 64) % count
        while True:
            self.state = (self.state + GOLDEN) & MASK
            number = mix(self.state)
            if number >= limit:
                return number % count


cases = []
for seed, clips in [(0, [[1.5, 2.25], [0.5], [4.0, 4.5, 3.0], [2.0], [-1.0, 0.0]]),
                    (7, [[0.125 * i * i - i] for i in range(12)])]:
    random = SplitMix(seed)
    means = []
    for _ in range(10000):
        drawn = [clips[random.below(len(clips))] for _ in clips]
        means.append(np.mean(np.concatenate(drawn)))
    low, high = np.percentile(means, [2.5, 97.5])
    cases.append({"seed": seed, "clips": clips, "mean": float(np.mean(np.concatenate(clips))),
                  "low": float(low), "high": float(high)})
target = pathlib.Path(__file__).with_name("bootstrap.json")
target.write_text(json.dumps(cases, indent=1) + "\n")
