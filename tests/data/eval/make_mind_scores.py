# SPDX-License-Identifier: Apache-2.0
"""Writes mind_scores.json: values of MIND's own scorer for small frames that the test repeats by formula.

Usage: make_mind_scores.py MIND
MIND is a checkout of the benchmark's code. Its functions transform_image and lcm_metric are run unchanged, with a
constant instead of LPIPS. Needs torch, torchvision, torchmetrics and numpy; modules that these functions do not use
(video readers, LPIPS) may be absent.
"""

import json
import pathlib
import sys
import types

import numpy as np
import torch
import torchvision.io

for name in ("av", "cv2", "lpips"):
    sys.modules.setdefault(name, types.ModuleType(name))
if not hasattr(torchvision.io, "read_video"):
    torchvision.io.read_video = None
sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "src"))
from metrics.lcm import lcm_metric  # noqa: E402
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure  # noqa: E402
from utils.utils import transform_image  # noqa: E402


def picture(height, width, phase, noise):
    """uint8 [height, width, 3]: waves, and a deterministic pattern instead of noise."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    wave = 0.5 + 0.4 * np.sin(0.3 * x + 0.2 * y + c + phase)
    pattern = ((x * 7919 + y * 104729 + c * 1299709) % 97) / 97.0 - 0.5
    return np.clip(np.floor(255 * (wave + noise * pattern)), 0, 255).astype(np.uint8)


def frames(height, width, phases, noise):
    stack = torch.stack([torch.from_numpy(picture(height, width, phase, noise)) for phase in phases])
    return torch.clamp(transform_image(stack.float().permute(0, 3, 1, 2)), 0, 1)


# The metrics as the scorer makes them.
ssim = StructuralSimilarityIndexMeasure(data_range=1.0, reduction="none")
psnr = PeakSignalNoiseRatio(data_range=1.0, reduction="none", dim=[1, 2, 3])
cases = []
for height, width in [(54, 96), (64, 96), (72, 100)]:
    truth = frames(72, 128, [0.0, 0.4], 0.0)
    made = frames(height, width, [0.3, 0.4], 0.2)
    result = lcm_metric(made, truth, lambda a, b: torch.zeros(len(a), 1, 1, 1), ssim, psnr, device="cpu")
    cases.append({"height": height, "width": width, **{key: result[key] for key in ("mse", "psnr", "ssim")}})
pathlib.Path(__file__).with_name("mind_scores.json").write_text(json.dumps(cases, indent=1) + "\n")
