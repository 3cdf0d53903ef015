# SPDX-License-Identifier: Apache-2.0
"""Writes clip/ViT-tiny.pt and clip/expected.json with the original CLIP.

    python3 -m venv venv && venv/bin/pip install torch numpy
    venv/bin/python make_clip_script.py path/to/checkout/of/CLIP

Like the published files, it is a traced program with weights in half precision. Element i of every
weight is ((i * 7) % 23 - 11) / 100, so that the archive compresses well.
"""
import importlib.util
import io
import json
import pathlib
import sys
import zipfile

import torch

HERE = pathlib.Path(__file__).parent / "clip"


def ramp(shape, step, modulus, scale):
    i = torch.arange(int(torch.tensor(shape).prod()))
    return ((i * step % modulus - modulus // 2).float() / scale).reshape(shape)


def main():
    spec = importlib.util.spec_from_file_location("clip_model", sys.argv[1] + "/clip/model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.CLIP(embed_dim=8, image_resolution=16, vision_layers=1, vision_width=64,
                      vision_patch_size=8, context_length=4, vocab_size=5, transformer_width=64,
                      transformer_heads=1, transformer_layers=1).eval()
    for parameter in net.parameters():
        parameter.data.copy_(ramp(parameter.shape, 7, 23, 100) if parameter.dim() else torch.ones(()))
    image, text = ramp((1, 3, 16, 16), 5, 31, 15), torch.zeros((1, 4), dtype=torch.long)
    half = {name: tensor.half().float() for name, tensor in net.state_dict().items()}
    net.load_state_dict(half)
    with torch.no_grad():
        expected = net.encode_image(image)[0].tolist()
        program = torch.jit.trace(net, (image, text), check_trace=False)
    for parameter in program.parameters():
        parameter.data = parameter.data.half()
    stored = io.BytesIO()
    torch.jit.save(program, stored)
    with zipfile.ZipFile(stored) as old, zipfile.ZipFile(HERE / "ViT-tiny.pt", "w") as new:
        for name in old.namelist():
            if "/code/" not in name or name.endswith("__torch__.py"):
                new.writestr(zipfile.ZipInfo(name), old.read(name), zipfile.ZIP_DEFLATED)
    (HERE / "expected.json").write_text(json.dumps({"image": expected}) + "\n")


main()
