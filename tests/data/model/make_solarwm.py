# SPDX-License-Identifier: Apache-2.0
"""Writes solarwm/model.pt: a transformer of a few hundred kilobytes with random weights, in the layout of the
checkpoints of SolarWM's stage 2. It has live and averaged weights under the original names of Wan2.2 with the prefix
"model.", the configuration, and the state of an optimizer.

Usage: make_solarwm.py [FOLDER]
"""
import pathlib
import sys

import torch

WIDTH, FFN, CHANNELS, TEXT, FREQUENCIES, LAYERS = 128, 32, 3, 16, 32, 1


def weights(seed):
    generator = torch.Generator().manual_seed(seed)
    tensors = {}

    def add(name, *shape, mean=0.0):
        value = mean + torch.randn(shape, generator=generator) / max(1, shape[-1]) ** 0.5
        tensors[f"model.{name}"] = value.to(torch.bfloat16)

    def linear(name, inputs, outputs):
        add(f"{name}.weight", outputs, inputs)
        add(f"{name}.bias", outputs)

    add("patch_embedding.weight", WIDTH, CHANNELS, 1, 2, 2)
    add("patch_embedding.bias", WIDTH)
    linear("text_embedding.0", TEXT, WIDTH)
    linear("text_embedding.2", WIDTH, WIDTH)
    linear("time_embedding.0", FREQUENCIES, WIDTH)
    linear("time_embedding.2", WIDTH, WIDTH)
    linear("time_projection.1", WIDTH, 6 * WIDTH)
    for layer in range(LAYERS):
        block = f"blocks.{layer}"
        add(f"{block}.modulation", 1, 6, WIDTH)
        add(f"{block}.norm3.weight", WIDTH, mean=1.0)
        add(f"{block}.norm3.bias", WIDTH)
        for attention in ("self_attn", "cross_attn"):
            for part in "qkvo":
                linear(f"{block}.{attention}.{part}", WIDTH, WIDTH)
            add(f"{block}.{attention}.norm_q.weight", WIDTH, mean=1.0)
            add(f"{block}.{attention}.norm_k.weight", WIDTH, mean=1.0)
        linear(f"{block}.ffn.0", WIDTH, FFN)
        linear(f"{block}.ffn.2", FFN, WIDTH)
    add("head.modulation", 1, 2, WIDTH)
    linear("head.head", WIDTH, 4 * CHANNELS)
    return tensors


folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent) / "solarwm"
folder.mkdir(parents=True, exist_ok=True)
torch.save({"generator": weights(1), "generator_ema": weights(2), "config": {"model": {"stage": "stage2"}},
            "global_step": 100, "ema_num_updates": 100,
            "optimizer": {"state": {0: {"exp_avg": torch.zeros(4)}}, "param_groups": [{"lr": 1e-5}]}},
           folder / "model.pt")
