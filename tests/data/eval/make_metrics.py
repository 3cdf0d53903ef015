# SPDX-License-Identifier: Apache-2.0
"""Writes metrics.json: scores of small pictures by scikit-image and numpy, for tests/eval.

The pictures are computed by a formula, which the test repeats. Needs numpy and scikit-image.
"""

import json
import pathlib

import numpy as np
from skimage.metrics import peak_signal_noise_ratio, structural_similarity


def picture(height, width, phase, noise):
    """uint8 [height, width, 3]: waves, and a deterministic pattern instead of noise."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    wave = 0.5 + 0.4 * np.sin(0.3 * x + 0.2 * y + c + phase)
    pattern = ((x * 7919 + y * 104729 + c * 1299709) % 97) / 97.0 - 0.5
    return np.clip(np.floor(255 * (wave + noise * pattern)), 0, 255).astype(np.uint8)


cases = []
for height, width, phase, noise in [(32, 48, 0.1, 0.2), (11, 11, 0.0, 0.05), (40, 20, 1.5, 0.6)]:
    a, b = picture(height, width, 0.0, 0.0), picture(height, width, phase, noise)
    cases.append(
        {
            "height": height,
            "width": width,
            "phase": phase,
            "noise": noise,
            "mse": float(np.mean((a / 255.0 - b / 255.0) ** 2)),
            "psnr": float(peak_signal_noise_ratio(a, b, data_range=255)),
            "ssim": float(
                structural_similarity(
                    a / 255.0,
                    b / 255.0,
                    data_range=1.0,
                    channel_axis=2,
                    gaussian_weights=True,
                    sigma=1.5,
                    use_sample_covariance=False,
                )
            ),
        }
    )
target = pathlib.Path(__file__).with_name("metrics.json")
target.write_text(json.dumps(cases, indent=1) + "\n")
