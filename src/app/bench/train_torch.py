# SPDX-License-Identifier: Apache-2.0
"""The computation of `loci bench train` in PyTorch eager mode: forward and backward pass of one window.

Reads the case file of `loci bench train` (weights, window, geometry) and prints one line of JSON with
the median time, the loss and the gradient norm, which loci compares with its own.
Usage: train_torch.py CASE [--repeats N] [--threads N] [--bf16]
"""

import argparse
import json
import math
import statistics
import struct
import time

import torch
import torch.nn.functional as F

D = 128  # channels per head


def read_case(path):
    types = {"F32": torch.float32, "I64": torch.int64}
    with open(path, "rb") as file:
        data = bytearray(file.read())
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    config = json.loads(header.pop("__metadata__")["loci.config"])
    tensors = {}
    for name, info in header.items():
        begin, end = (8 + size + offset for offset in info["data_offsets"])
        flat = torch.frombuffer(data[begin:end], dtype=types[info["dtype"]])
        tensors[name] = flat.view(info["shape"])
    return config, tensors


def head_map(x, m):
    """x [B, N, H, D]; tiles of four channels and plane rotations, as in src/kernels/elementwise/head_map.h."""
    layout = m["layout"].tolist()
    begin, tiles, rotations = layout[0], layout[1], layout[2:]
    dtype, x = x.dtype, x.float()
    pieces = {}
    if tiles:
        part = x[..., begin : begin + 4 * tiles].unflatten(-1, (tiles, 4))
        pieces[begin] = (part @ m["matrices"].unsqueeze(1).transpose(-1, -2)).flatten(-2)
    column = 0
    for i in range(0, len(rotations), 3):
        first, pairs, adjacent = rotations[i : i + 3]
        c = m["cosine"][:, None, column : column + pairs]
        s = m["sine"][:, None, column : column + pairs]
        column += pairs
        part = x[..., first : first + 2 * pairs]
        if adjacent:
            a, b = part.unflatten(-1, (pairs, 2)).unbind(-1)
            pieces[first] = torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)
        else:
            a, b = part[..., :pairs], part[..., pairs:]
            pieces[first] = torch.cat((a * c - b * s, a * s + b * c), -1)
    whole, at = [], 0
    for first in sorted(pieces):
        if first > at:
            whole.append(x[..., at:first])
        whole.append(pieces[first])
        at = first + pieces[first].shape[-1]
    if at < x.shape[-1]:
        whole.append(x[..., at:])
    return torch.cat(whole, -1).to(dtype)


def attend(q, k, v):
    return F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    ).transpose(1, 2)


def delta_write(state, k, v, beta, block=128):
    for begin in range(0, k.shape[1], block):
        end = min(begin + block, k.shape[1])
        key, weight = k[:, begin:end], beta[:, begin:end, None]
        system = torch.tril(weight * (key @ key.transpose(1, 2)), -1)
        correction = torch.linalg.solve_triangular(
            system, weight * (v[:, begin:end] - key @ state), upper=False, unitriangular=True
        )
        state = state + key.transpose(1, 2) @ correction
    return state


class Model:
    def __init__(self, config, tensors):
        self.config = config
        self.heads = config["num_attention_heads"]
        self.chunk = config["chunk_size"]
        self.eps = config["eps"]
        self.weights = {
            name[len("weight.") :]: tensor.clone().requires_grad_(True)
            for name, tensor in tensors.items()
            if name.startswith("weight.")
        }
        self.maps = {}
        for name, tensor in tensors.items():
            if name.startswith("map."):
                _, which, part = name.split(".")
                self.maps.setdefault(which, {})[part] = tensor
        self.absolute = tensors["in.absolute"]

    def linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"], self.weights.get(name + ".bias"))

    def rms(self, x, name):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (wide * self.weights[name + ".weight"]).to(x.dtype)

    def norm(self, x):
        return F.layer_norm(x, x.shape[-1:], eps=self.eps)

    def over_history(self, q, k, v, local):
        out = []
        for begin, end in self.spans:
            first = begin if local else 0
            out.append(attend(q[:, begin:end], k[:, first:end], v[:, first:end]))
        return torch.cat(out, 1)

    def per_head(self, x, name):
        matrices = self.weights[name + ".weight"].view(self.heads, D, D)
        return (x.transpose(1, 2) @ matrices.transpose(1, 2)).transpose(1, 2).float()

    def recurrent(self, h, q, k, v, name):
        unit = lambda x: x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)
        q = unit(head_map(self.per_head(q, name + ".phi_q"), self.maps["recurrent_query"]))
        k = unit(head_map(self.per_head(k, name + ".phi_k"), self.maps["recurrent_key"]))
        v = head_map(self.per_head(v, name + ".phi_v"), self.maps["recurrent_value"])
        beta = 2 * torch.sigmoid(self.linear(h, name + ".b_proj").float())
        state = torch.zeros(self.heads, D, D)
        fold = lambda x, b, e: x[0, b:e].transpose(0, 1)  # one window: [H, n, …]
        reads = []
        for begin, end in self.spans:
            reads.append((fold(q, begin, end) @ state / math.sqrt(D)).transpose(0, 1))
            if end == h.shape[1]:
                break  # the state after the last chunk is not read
            summary = h[:, begin:end].float().mean(1)
            rate = F.softplus(
                self.linear(summary, name + ".a_proj").float() + self.weights[name + ".dt_bias"]
            ).view(self.heads, D // 2)
            log = -self.weights[name + ".A_log"].exp()[:, None] * rate
            log = log.clamp_min(math.log(self.config["kda_min_retention"]))
            state = state * log.repeat_interleave(2, -1).exp()[..., None]
            state = delta_write(
                state, fold(k, begin, end), fold(v, begin, end), beta[0, begin:end].T
            )
        read = head_map(torch.cat(reads)[None], self.maps["recurrent_output"])
        return torch.sigmoid(self.linear(h, name + ".gate_proj").float())[..., None] * read

    def camera(self, h, name):
        x = h + self.linear(self.absolute.to(h.dtype), name + ".cam_encoder")
        split = lambda y: y.unflatten(-1, (-1, D))
        q = head_map(split(self.linear(x, name + ".q_proj")), self.maps["camera_query"])
        k = head_map(split(self.linear(x, name + ".k_proj")), self.maps["camera_key"])
        v = head_map(split(self.linear(x, name + ".v_proj")), self.maps["camera_key"])
        seen = head_map(self.over_history(q, k, v, False), self.maps["camera_output"])
        return self.linear(seen.flatten(-2), name + ".out_proj")

    def block(self, x, modulation, text, layer):
        name = f"blocks.{layer}"
        frames = modulation.shape[1]
        m = (self.weights[name + ".scale_shift_table"] + modulation).unsqueeze(3).unbind(2)
        by_frame = lambda y: y.unflatten(1, (frames, -1))
        modulated = lambda y, a, b: (by_frame(self.norm(y)) * (1 + b) + a).flatten(1, 2)
        split = lambda y: y.unflatten(-1, (self.heads, D))
        h = modulated(x, m[0], m[1])
        q = split(self.rms(self.linear(h, name + ".attn1.to_q"), name + ".attn1.norm_q"))
        k = split(self.rms(self.linear(h, name + ".attn1.to_k"), name + ".attn1.norm_k"))
        v = split(self.linear(h, name + ".attn1.to_v"))
        hybrid = name + ".kda.A_log" in self.weights
        turned_q, turned_k = head_map(q, self.maps["rotary"]), head_map(k, self.maps["rotary"])
        seen = self.over_history(turned_q, turned_k, v, hybrid)
        if hybrid:
            seen = (seen + self.recurrent(h, q, k, v, name + ".kda")).to(h.dtype)
        attended = self.linear(seen.flatten(-2), name + ".attn1.to_out.0")
        attended = attended + self.camera(h, name + ".camera_attn")
        x = (by_frame(x) + m[2] * by_frame(attended)).flatten(1, 2)
        c = self.norm(x) * self.weights[name + ".norm2.weight"] + self.weights[name + ".norm2.bias"]
        q = split(self.rms(self.linear(c, name + ".attn2.to_q"), name + ".attn2.norm_q"))
        k = split(self.rms(self.linear(text, name + ".attn2.to_k"), name + ".attn2.norm_k"))
        v = split(self.linear(text, name + ".attn2.to_v"))
        x = x + self.linear(attend(q, k, v).flatten(-2), name + ".attn2.to_out.0")
        g = F.gelu(
            self.linear(modulated(x, m[3], m[4]), name + ".ffn.net.0.proj"), approximate="tanh"
        )
        return (by_frame(x) + m[5] * by_frame(self.linear(g, name + ".ffn.net.2"))).flatten(1, 2)

    def forward(self, latents, timesteps, text):
        config, width = self.config, self.heads * D
        patch = config["patch_size"][1]
        frames = latents.shape[2]
        tokens = (latents.shape[3] // patch) * (latents.shape[4] // patch)
        self.spans = [(0, tokens)] + [
            (b * tokens, (b + self.chunk) * tokens) for b in range(1, frames, self.chunk)
        ]
        x = latents.unflatten(4, (-1, patch)).unflatten(3, (-1, patch))
        x = x.permute(0, 2, 3, 5, 1, 4, 6).flatten(4).flatten(1, 3)
        x = F.linear(
            x,
            self.weights["patch_embedding.weight"].flatten(1),
            self.weights["patch_embedding.bias"],
        ).float()
        half = config["freq_dim"] // 2
        angles = timesteps.double()[..., None] * 10000.0 ** (
            torch.arange(half, dtype=torch.float64) / -half
        )
        time = torch.cat((angles.cos(), angles.sin()), -1).float()
        embedder = "condition_embedder.time_embedder.linear_"
        time = self.linear(F.silu(self.linear(time, embedder + "1")), embedder + "2").float()
        modulation = self.linear(F.silu(time), "condition_embedder.time_proj").float()
        modulation = modulation.unflatten(-1, (6, width))
        embedder = "condition_embedder.text_embedder.linear_"
        text = self.linear(
            F.gelu(self.linear(text, embedder + "1"), approximate="tanh"), embedder + "2"
        )
        for layer in range(config["num_layers"]):
            x = self.block(x, modulation, text, layer)
        m = (self.weights["scale_shift_table"] + time.unsqueeze(2)).unsqueeze(3).unbind(2)
        x = (self.norm(x).unflatten(1, (frames, -1)) * (1 + m[1]) + m[0]).flatten(1, 2)
        x = self.linear(x, "proj_out").float()
        rows, columns = latents.shape[3] // patch, latents.shape[4] // patch
        x = x.view(1, frames, rows, columns, patch, patch, -1).permute(0, 6, 1, 2, 4, 3, 5)
        return x.flatten(5, 6).flatten(3, 4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bf16", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config, tensors = read_case(options.case)
    model = Model(config, tensors)
    seconds = []
    for i in range(options.repeats + 1):
        for weight in model.weights.values():
            weight.grad = None
        begun = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
            velocity = model.forward(
                tensors["in.latents"], tensors["in.timesteps"], tensors["in.text"]
            )
        loss = (velocity[:, :, 1:].float() - tensors["in.target"][:, :, 1:]).square().mean()
        loss.backward()
        if i > 0:
            seconds.append(time.perf_counter() - begun)
    squares = sum(w.grad.double().square().sum().item() for w in model.weights.values() if w.grad is not None)
    print(
        json.dumps(
            {
                "seconds": statistics.median(seconds),
                "loss": loss.item(),
                "gradient_norm": math.sqrt(squares),
                "torch": torch.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
