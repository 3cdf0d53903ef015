# SPDX-License-Identifier: Apache-2.0
"""Makes lpips.json: LPIPS of two pictures and its gradient by PyTorch's autograd, for weights and
pictures that follow from a formula (the same in tests/model/formula_weights.h).

    python make_lpips.py

Needs torch. The gradient is stored as its norm and its values at some places.
"""
import json
import pathlib

import torch
import torch.nn.functional as F

ALEX = [(0, 64, 3, 11, 4, 2, 0, 1), (3, 192, 64, 5, 1, 2, 3, 1), (6, 384, 192, 3, 1, 1, 3, 1),
        (8, 256, 384, 3, 1, 1, 0, 1), (10, 256, 256, 3, 1, 1, 0, 1)]
VGG = [(0, 64, 3, 0, 0), (2, 64, 64, 0, 1), (5, 128, 64, 2, 0), (7, 128, 128, 0, 1),
       (10, 256, 128, 2, 0), (12, 256, 256, 0, 0), (14, 256, 256, 0, 1), (17, 512, 256, 2, 0),
       (19, 512, 512, 0, 0), (21, 512, 512, 0, 1), (24, 512, 512, 2, 0), (26, 512, 512, 0, 0),
       (28, 512, 512, 0, 1)]
VGG = [(layer, out, inputs, 3, 1, 1, pool, tap) for layer, out, inputs, pool, tap in VGG]


def noise(shape, seed, scale):
    x = torch.arange(torch.Size(shape).numel(), dtype=torch.int64)
    x = (x * 2654435761 + seed * 40503 + 12345) & 0xFFFFFFFF
    x = x ^ (x >> 16)
    x = x * 73244475 & 0xFFFFFFFF
    x = x ^ (x >> 16)
    return ((x.double() / (1 << 32) - 0.5) * scale).float().reshape(shape)


def weight(name, shape):
    seed = sum(name.encode())
    if len(shape) == 1:
        return noise(shape, seed, 0.5)
    return noise(shape, seed, 3 / torch.Size(shape[1:]).numel() ** 0.5)


def taps(layers, x):
    shift = torch.tensor([-0.030, -0.088, -0.188]).view(1, 3, 1, 1)
    scale = torch.tensor([0.458, 0.448, 0.450]).view(1, 3, 1, 1)
    x = (x - shift) / scale
    for layer, out, inputs, kernel, stride, padding, pool, tap in layers:
        if pool:
            x = F.max_pool2d(x, pool, 2)
        name = f"features.{layer}"
        x = F.relu(F.conv2d(x, weight(name + ".weight", (out, inputs, kernel, kernel)),
                            weight(name + ".bias", (out,)), stride, padding))
        if tap:
            yield x / (x.square().sum(1, keepdim=True).sqrt() + 1e-10)


def main():
    cases = {}
    for name, layers in (("alex", ALEX), ("vgg", VGG)):
        target = noise((2, 3, 40, 52), 1, 1.8)
        picture = (target + noise((2, 3, 40, 52), 2, 0.5)).requires_grad_()
        distance = 0
        for i, (a, b) in enumerate(zip(taps(layers, picture), taps(layers, target))):
            head = noise((1, a.shape[1], 1, 1), 77 + i, 0.2).abs()
            distance = distance + F.conv2d((a - b).square(), head).mean()
        distance.backward()
        gradient = picture.grad.flatten()
        cases[name] = {"distance": distance.item(), "norm": gradient.norm().item(),
                       "every_1001st": gradient[::1001].tolist()}
    target = pathlib.Path(__file__).with_name("lpips.json")
    target.write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
