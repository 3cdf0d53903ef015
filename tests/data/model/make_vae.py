#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one tiny Wan2.2 autoencoder in both naming schemes.

    python3 -m venv /tmp/vae
    /tmp/vae/bin/pip install torch==2.13.0 safetensors numpy
    /tmp/vae/bin/python make_vae.py

vae_original.pth            names of the original release, saved by torch.save
vae_diffusers/              the same tensors with Diffusers' names, and config.json

Three levels, one residual block each (two in the decoder), 2 to 4 channels.
"""
import json
import pathlib

import torch
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).resolve().parent
CONFIG = {"_class_name": "AutoencoderKLWan", "base_dim": 2, "decoder_base_dim": 2, "z_dim": 2, "dim_mult": [1, 2, 2],
          "num_res_blocks": 1, "attn_scales": [], "temperal_downsample": [True, False], "is_residual": True,
          "in_channels": 12, "out_channels": 12, "patch_size": 2, "scale_factor_temporal": 2,
          "scale_factor_spatial": 8, "latents_mean": [0.1, -0.2], "latents_std": [0.5, 2.0]}

pairs = []  # (original name, Diffusers' name, shape)


def conv(original, diffusers, out, into, *kernel):
    pairs.append((original + ".weight", diffusers + ".weight", (out, into, *kernel)))
    pairs.append((original + ".bias", diffusers + ".bias", (out,)))


def norm(original, diffusers, *shape):
    pairs.append((original + ".gamma", diffusers + ".gamma", shape))


def residual(original, diffusers, into, out):
    norm(original + ".residual.0", diffusers + ".norm1", into, 1, 1, 1)
    conv(original + ".residual.2", diffusers + ".conv1", out, into, 3, 3, 3)
    norm(original + ".residual.3", diffusers + ".norm2", out, 1, 1, 1)
    conv(original + ".residual.6", diffusers + ".conv2", out, out, 3, 3, 3)
    if into != out:
        conv(original + ".shortcut", diffusers + ".conv_shortcut", out, into, 1, 1, 1)


def middle(part, channels):
    residual(part + ".middle.0", part + ".mid_block.resnets.0", channels, channels)
    norm(part + ".middle.1.norm", part + ".mid_block.attentions.0.norm", channels, 1, 1)
    conv(part + ".middle.1.to_qkv", part + ".mid_block.attentions.0.to_qkv", 3 * channels, channels, 1, 1)
    conv(part + ".middle.1.proj", part + ".mid_block.attentions.0.proj", channels, channels, 1, 1)
    residual(part + ".middle.2", part + ".mid_block.resnets.1", channels, channels)


def head(part, channels, out):
    norm(part + ".head.0", part + ".norm_out", channels, 1, 1, 1)
    conv(part + ".head.2", part + ".conv_out", out, channels, 3, 3, 3)


conv("conv1", "quant_conv", 4, 4, 1, 1, 1)
conv("conv2", "post_quant_conv", 2, 2, 1, 1, 1)
conv("encoder.conv1", "encoder.conv_in", 2, 12, 3, 3, 3)
residual("encoder.downsamples.0.downsamples.0", "encoder.down_blocks.0.resnets.0", 2, 2)
conv("encoder.downsamples.0.downsamples.1.resample.1", "encoder.down_blocks.0.downsampler.resample.1", 2, 2, 3, 3)
conv("encoder.downsamples.0.downsamples.1.time_conv", "encoder.down_blocks.0.downsampler.time_conv", 2, 2, 3, 1, 1)
residual("encoder.downsamples.1.downsamples.0", "encoder.down_blocks.1.resnets.0", 2, 4)
conv("encoder.downsamples.1.downsamples.1.resample.1", "encoder.down_blocks.1.downsampler.resample.1", 4, 4, 3, 3)
residual("encoder.downsamples.2.downsamples.0", "encoder.down_blocks.2.resnets.0", 4, 4)
middle("encoder", 4)
head("encoder", 4, 4)
conv("decoder.conv1", "decoder.conv_in", 4, 2, 3, 3, 3)
middle("decoder", 4)
residual("decoder.upsamples.0.upsamples.0", "decoder.up_blocks.0.resnets.0", 4, 4)
residual("decoder.upsamples.0.upsamples.1", "decoder.up_blocks.0.resnets.1", 4, 4)
conv("decoder.upsamples.0.upsamples.2.resample.1", "decoder.up_blocks.0.upsampler.resample.1", 4, 4, 3, 3)
residual("decoder.upsamples.1.upsamples.0", "decoder.up_blocks.1.resnets.0", 4, 4)
residual("decoder.upsamples.1.upsamples.1", "decoder.up_blocks.1.resnets.1", 4, 4)
conv("decoder.upsamples.1.upsamples.2.resample.1", "decoder.up_blocks.1.upsampler.resample.1", 4, 4, 3, 3)
conv("decoder.upsamples.1.upsamples.2.time_conv", "decoder.up_blocks.1.upsampler.time_conv", 8, 4, 3, 1, 1)
residual("decoder.upsamples.2.upsamples.0", "decoder.up_blocks.2.resnets.0", 4, 2)
residual("decoder.upsamples.2.upsamples.1", "decoder.up_blocks.2.resnets.1", 2, 2)
head("decoder", 2, 12)

torch.manual_seed(5)
tensors = [0.3 * torch.randn(shape) for _, _, shape in pairs]
torch.save({original: t for (original, _, _), t in zip(pairs, tensors)}, FOLDER / "vae_original.pth")
target = FOLDER / "vae_diffusers"
target.mkdir(exist_ok=True)
save_file({diffusers: t for (_, diffusers, _), t in zip(pairs, tensors)},
          target / "diffusion_pytorch_model.safetensors", {"format": "pt"})
(target / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
