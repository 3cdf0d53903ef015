# SPDX-License-Identifier: Apache-2.0
"""The computation of `loci bench block` in PyTorch eager mode: one denoising step of one block.

Reads the case file of `loci bench block` (weights, inputs, geometry, history), runs the softmax block
and the hybrid block, writes their outputs to CASE.softmax and CASE.hybrid (raw FP32 values) and prints
one line of JSON with their times. The history is concatenated with the chunk, attention is
scaled_dot_product_attention, and matrix products use the data type of the weights.
Usage: block_torch.py CASE [--threads N] [--commit]
"""

import argparse
import ctypes
import json
import math
import mmap
import struct
import time

import torch
import torch.nn.functional as F

from train_torch import D, attend, delta_write, head_map

AGAIN = 1  # seconds for which calls are repeated


def read_case(path):
    types = {"F32": torch.float32, "BF16": torch.bfloat16, "I64": torch.int64}
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    config = json.loads(header.pop("__metadata__")["loci.config"])
    tensors = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        dtype = types[info["dtype"]]
        count = (end - begin) // dtype.itemsize
        flat = torch.frombuffer(data, dtype=dtype, count=count, offset=8 + size + begin)
        tensors[name] = flat.view(info["shape"]).clone()
    return config, tensors


def unit(x):
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


class Block:
    def __init__(self, config, tensors, layer, commit):
        self.config, self.tensors, self.layer, self.commit = config, tensors, layer, commit
        self.heads = config["num_attention_heads"]
        self.eps = config["eps"]
        prefix = f"weight.blocks.{layer}."
        self.weights = {n[len(prefix) :]: t for n, t in tensors.items() if n.startswith(prefix)}
        self.dtype = self.weights["attn1.to_q.weight"].dtype
        self.hybrid = "kda.A_log" in self.weights
        self.maps = {}
        for name, tensor in tensors.items():
            if name.startswith("map."):
                _, which, part = name.split(".")
                self.maps.setdefault(which, {})[part] = tensor

    def linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"], self.weights.get(name + ".bias"))

    def rms(self, x, name):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (wide * self.weights[name + ".weight"].float()).to(x.dtype)

    def norm(self, x):
        return F.layer_norm(x, x.shape[-1:], eps=self.eps)

    def after_past(self, branch, what, x):
        past = self.tensors.get(f"{branch}.{self.layer}.{what}")
        return x if past is None else torch.cat((past, x), 1)

    def per_head(self, x, name):
        matrices = self.weights[name + ".weight"].view(self.heads, D, D)
        return (x.transpose(1, 2) @ matrices.transpose(1, 2)).transpose(1, 2).float()

    def recurrent(self, h, q, k, v):
        state = self.tensors[f"state.{self.layer}"][0]
        q = unit(head_map(self.per_head(q, "kda.phi_q"), self.maps["recurrent_query"]))
        read = (q[0].transpose(0, 1) @ state / math.sqrt(D)).transpose(0, 1)[None]
        read = head_map(read, self.maps["recurrent_output"])
        if self.commit:
            self.written = self.write(state, h, k, v)
        return torch.sigmoid(self.linear(h, "kda.gate_proj").float())[..., None] * read

    def write(self, state, h, k, v):
        k = unit(head_map(self.per_head(k, "kda.phi_k"), self.maps["recurrent_key"]))
        v = head_map(self.per_head(v, "kda.phi_v"), self.maps["recurrent_value"])
        beta = 2 * torch.sigmoid(self.linear(h, "kda.b_proj").float())
        rate = F.linear(h.float().mean(1), self.weights["kda.a_proj.weight"].float())
        rate = F.softplus(rate + self.weights["kda.dt_bias"].float()).view(self.heads, D // 2)
        log = -self.weights["kda.A_log"].float().exp()[:, None] * rate
        log = log.clamp_min(math.log(self.config["kda_min_retention"]))
        state = state * log.repeat_interleave(2, -1).exp()[..., None]
        return delta_write(state, k[0].transpose(0, 1), v[0].transpose(0, 1), beta[0].T)

    def camera(self, h):
        x = h + self.linear(self.tensors["in.absolute"].to(h.dtype), "camera_attn.cam_encoder")
        split = lambda y: y.unflatten(-1, (-1, D))
        q = head_map(split(self.linear(x, "camera_attn.q_proj")), self.maps["camera_query"])
        k = head_map(split(self.linear(x, "camera_attn.k_proj")), self.maps["camera_key"])
        v = head_map(split(self.linear(x, "camera_attn.v_proj")), self.maps["camera_key"])
        seen = attend(q, self.after_past("camera", "key", k), self.after_past("camera", "value", v))
        seen = head_map(seen, self.maps["camera_output"])
        return self.linear(seen.flatten(-2), "camera_attn.out_proj")

    def __call__(self):
        x, modulation = self.tensors["in.x"], self.tensors["in.modulation"]
        frames = modulation.shape[1]
        m = (self.weights["scale_shift_table"].float() + modulation).unsqueeze(3).unbind(2)
        by_frame = lambda y: y.unflatten(1, (frames, -1))
        modulated = lambda y, a, b: (by_frame(self.norm(y)) * (1 + b) + a).flatten(1, 2)
        split = lambda y: y.unflatten(-1, (self.heads, D))
        h = modulated(x, m[0], m[1]).to(self.dtype)
        q = split(self.rms(self.linear(h, "attn1.to_q"), "attn1.norm_q"))
        k = split(self.rms(self.linear(h, "attn1.to_k"), "attn1.norm_k"))
        v = split(self.linear(h, "attn1.to_v"))
        turned_q, turned_k = head_map(q, self.maps["rotary"]), head_map(k, self.maps["rotary"])
        if self.hybrid:
            seen = (attend(turned_q, turned_k, v) + self.recurrent(h, q, k, v)).to(h.dtype)
        else:
            seen = attend(
                turned_q,
                self.after_past("main", "key", turned_k),
                self.after_past("main", "value", v),
            )
        attended = self.linear(seen.flatten(-2), "attn1.to_out.0") + self.camera(h)
        x = (by_frame(x) + m[2] * by_frame(attended.float())).flatten(1, 2)
        c = self.norm(x) * self.weights["norm2.weight"].float() + self.weights["norm2.bias"].float()
        q = split(self.rms(self.linear(c.to(self.dtype), "attn2.to_q"), "attn2.norm_q"))
        text = attend(
            q, self.tensors[f"text.{self.layer}.key"], self.tensors[f"text.{self.layer}.value"]
        )
        x = x + self.linear(text.flatten(-2), "attn2.to_out.0")
        g = self.linear(modulated(x, m[3], m[4]).to(self.dtype), "ffn.net.0.proj")
        g = self.linear(F.gelu(g, approximate="tanh"), "ffn.net.2")
        return (by_frame(x) + m[5] * by_frame(g.float())).flatten(1, 2)


def cost_of(call):
    seconds = processor = math.inf
    begun = time.perf_counter()
    while True:
        start, used = time.perf_counter(), time.process_time()
        result = call()
        processor = min(processor, time.process_time() - used)
        seconds = min(seconds, time.perf_counter() - start)
        if time.perf_counter() - begun >= AGAIN:
            return result, seconds, processor


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--commit", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config, tensors = read_case(options.case)
    result = {"torch": torch.__version__}
    for layer, name in enumerate(("softmax", "hybrid")):
        out, seconds, processor = cost_of(Block(config, tensors, layer, options.commit))
        with open(f"{options.case}.{name}", "wb") as file:
            out = out.contiguous()
            file.write(ctypes.string_at(out.data_ptr(), out.nbytes))
        result[name] = {"seconds": seconds, "processor_seconds": processor}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
