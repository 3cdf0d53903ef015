# SPDX-License-Identifier: Apache-2.0
"""Writes networks.json: outputs of the original LPIPS, DINOv2 and CLIP. Weights and pictures are computed
by a formula (the same as in networks_test.cpp), so that they need not be stored.

    python make_networks.py LPIPS_CHECKOUT DINOV2_CHECKOUT CLIP_CHECKOUT > networks.json

with checkouts of richzhang/PerceptualSimilarity, facebookresearch/dinov2 and openai/CLIP, and torch.
"""
import importlib.util
import json
import sys
import types

import numpy as np
import torch


def noise(shape, seed, scale):
    count = int(np.prod(shape))
    x = (np.arange(count, dtype=np.uint64) * 2654435761 + seed * 40503 + 12345) % (1 << 32)
    x ^= x >> np.uint64(16)
    x = x * 73244475 % (1 << 32)
    x ^= x >> np.uint64(16)
    values = (x.astype(np.float64) / (1 << 32) - 0.5) * scale
    return torch.tensor(values.reshape(shape), dtype=torch.float32)


def fill(module, names=lambda name: name):
    """Weights by formula: the seed is the sum of the name's bytes."""
    state = {}
    for name, tensor in module.state_dict().items():
        seed = sum(names(name).encode())
        fan = max(1, tensor.numel() // tensor.shape[0]) if tensor.dim() > 1 else 0
        scale = 3.0 / fan**0.5 if fan else 0.5
        value = noise(tuple(tensor.shape), seed, scale)
        if tensor.dim() == 1 and name.endswith("weight"):
            value = value + 1
        state[name] = value
    module.load_state_dict(state)
    return module.eval()


def stub_torchvision():
    """LPIPS takes its trunks from torchvision; these have the same layers."""
    from torch import nn

    def alexnet(**_):
        layers = [nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2),
                  nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
                  nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(),
                  nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
                  nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2)]
        return types.SimpleNamespace(features=nn.Sequential(*layers))

    def vgg16(**_):
        layers, width = [], 3
        for item in [64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0]:
            if item:
                layers += [nn.Conv2d(width, item, 3, padding=1), nn.ReLU()]
                width = item
            else:
                layers.append(nn.MaxPool2d(2, 2))
        return types.SimpleNamespace(features=nn.Sequential(*layers))

    models = types.ModuleType("torchvision.models")
    models.alexnet, models.vgg16 = alexnet, vgg16
    torchvision = types.ModuleType("torchvision")
    torchvision.models = models
    sys.modules["torchvision"], sys.modules["torchvision.models"] = torchvision, models


def lpips_case(checkout):
    stub_torchvision()
    package = types.ModuleType("lpips")
    package.__path__ = [checkout + "/lpips"]
    sys.modules["lpips"] = package

    def normalize_tensor(x, eps=1e-10):  # of the package's __init__, which needs much more
        return x / (torch.sqrt(torch.sum(x**2, dim=1, keepdim=True)) + eps)

    package.normalize_tensor = normalize_tensor
    spec = importlib.util.spec_from_file_location("lpips.lpips", checkout + "/lpips/lpips.py")
    lpips = importlib.util.module_from_spec(spec)
    sys.modules["lpips.lpips"] = lpips
    sys.modules["skimage"] = types.ModuleType("skimage")
    spec.loader.exec_module(lpips)
    lpips.lpips = package
    a = noise((2, 40, 52, 3), 1, 1.0) + 0.5
    b = (a + noise((2, 40, 52, 3), 2, 0.3)).clamp(0, 1)
    result = {}
    for name in ["alex", "vgg"]:
        net = lpips.LPIPS(pretrained=False, net=name, pnet_rand=True, verbose=False)
        # features.N of the classifier, as slices count them too.
        fill(net, lambda n: "features." + ".".join(n.split(".")[2:]) if n.startswith("net.") else
             ".".join(n.split(".")[2:]) + n.split(".")[1] if n.startswith("lins.") else n)
        for index, lin in enumerate(net.lins):
            weight = noise(tuple(lin.model[1].weight.shape), 77 + index, 0.2).abs()
            lin.model[1].weight.data.copy_(weight)
        net.scaling_layer.shift.copy_(torch.tensor([-.030, -.088, -.188])[None, :, None, None])
        net.scaling_layer.scale.copy_(torch.tensor([.458, .448, .450])[None, :, None, None])
        with torch.no_grad():
            d = net(2 * a.permute(0, 3, 1, 2) - 1, 2 * b.permute(0, 3, 1, 2) - 1)
        result[name] = d.flatten().tolist()
    return result


def probe(tokens):
    """A few numbers that depend on all of them."""
    flat = tokens.flatten().double()
    weights = torch.cos(torch.arange(flat.numel(), dtype=torch.float64))
    return [float((flat * weights).sum()), float(flat.square().sum()), float(flat[0])]


def dino_case(checkout):
    sys.path.insert(0, checkout)
    import logging
    logging.disable(logging.CRITICAL)
    from dinov2.models.vision_transformer import DinoVisionTransformer
    result = {}
    for name, registers in [("plain", 0), ("registers", 2)]:
        net = DinoVisionTransformer(
            img_size=70, patch_size=14, embed_dim=128, depth=2, num_heads=2, mlp_ratio=4,
            init_values=1.0, num_register_tokens=registers, block_chunks=0,
            interpolate_antialias=registers > 0, interpolate_offset=0.0 if registers else 0.1)
        fill(net)
        outputs = {}
        for size in [(70, 70), (42, 84)]:
            with torch.no_grad():
                out = net.forward_features(noise((2, 3) + size, 5, 2.0))
            tokens = torch.cat([out["x_norm_clstoken"][:, None], out["x_norm_patchtokens"]], 1)
            outputs["%dx%d" % size] = probe(tokens)
        result[name] = outputs
    return result


def clip_case(checkout):
    spec = importlib.util.spec_from_file_location("clip_model", checkout + "/clip/model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.VisionTransformer(input_resolution=64, patch_size=16, width=128, layers=2, heads=2,
                                   output_dim=32)
    fill(net, lambda name: "visual." + name)
    with torch.no_grad():
        return probe(net(noise((2, 3, 64, 64), 6, 2.0)))


if __name__ == "__main__":
    cases = {"lpips": lpips_case(sys.argv[1]), "dino": dino_case(sys.argv[2]),
             "clip": clip_case(sys.argv[3])}
    print(json.dumps(cases, indent=1))
