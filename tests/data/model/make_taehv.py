#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes two small decoders of TAEHV with random weights, and what the original module decodes with them.

    python3 -m venv venv && venv/bin/pip install torch==2.13.0 tqdm
    git clone https://github.com/madebyollin/taehv
    PYTHONPATH=taehv venv/bin/python make_taehv.py

taew2_2_small.pth          weights of the decoder for Wan2.2 with a 32nd of its channels (latents and pixels keep theirs)
taew2_2_super_small.pth    the same for the larger variant
taehv_expected.pth         latents [1, 48, T, h, w] and frames [1, 3, T', H, W] in [0, 1] of both

The module runs in FP64 on all latents at once; its sequential mode is compared with it.
"""
import pathlib

import torch
from taehv import TAEHV
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent
KEPT = {1, 3, 12, 48}


def fewer(channels):
    return channels if channels in KEPT else channels // 32


def shrink(module):
    """Replaces every convolution by one with fewer channels and random weights."""
    for name, child in module.named_children():
        if not isinstance(child, nn.Conv2d):
            shrink(child)
            continue
        small = nn.Conv2d(fewer(child.in_channels), fewer(child.out_channels), child.kernel_size,
                          padding=child.padding, groups=fewer(child.groups), bias=child.bias is not None)
        inputs = small.weight[0].numel()
        nn.init.normal_(small.weight, std=(1.6 / inputs) ** 0.5)
        if small.bias is not None:
            nn.init.normal_(small.bias, std=0.1)
        setattr(module, name, small)


def make(variant, seed):
    torch.manual_seed(seed)
    model = TAEHV(checkpoint_path=None, patch_size=2, latent_channels=48, arch_variant=variant)
    shrink(model.decoder)
    last = list(model.decoder)[-1]
    nn.init.normal_(last.weight, std=0.1 if variant else 0.4)
    nn.init.constant_(last.bias, 0.5)
    model.requires_grad_(False)
    weights = {"decoder." + name: tensor.clone() for name, tensor in model.decoder.state_dict().items()}
    latents = torch.randn(1, 4, 48, 2, 1)
    model.double()
    frames = model.decode_video(latents.double(), parallel=True, show_progress_bar=False)
    again = model.decode_video(latents.double(), parallel=False, show_progress_bar=False)
    assert torch.allclose(frames, again, atol=1e-12, rtol=0)
    inside = ((frames > 0) & (frames < 1)).double().mean().item()
    print(f"{variant}: frames {tuple(frames.shape)}, deviation {frames.std():.3f}, {inside:.0%} within 0 and 1")
    return weights, latents.transpose(1, 2).contiguous(), frames.transpose(1, 2).float().contiguous()


if __name__ == "__main__":
    expected = {}
    for variant, stem in ((None, "taew2_2"), ("super", "taew2_2_super")):
        weights, latents, frames = make(variant, seed=11)
        torch.save(weights, FOLDER / f"{stem}_small.pth")
        expected[f"{stem}.latents"], expected[f"{stem}.frames"] = latents, frames
    torch.save(expected, FOLDER / "taehv_expected.pth")
