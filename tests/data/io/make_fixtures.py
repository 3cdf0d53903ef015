# SPDX-License-Identifier: Apache-2.0
"""Writes the tensor files of this folder with the original tools.

    python3 -m venv venv && venv/bin/pip install torch numpy safetensors huggingface_hub
    venv/bin/python make_fixtures.py

Element i of every tensor is ramp(i): i % 11 - 3 for signed types and floats, i % 11 for unsigned
ones, i % 3 == 0 for booleans, 2^(i % 4) for float8_e8m0fnu, (i % 11 - 3) + (i % 5)j for complex.
"""
import collections
import io
import os
import pathlib
import zipfile

import numpy as np
import torch
from huggingface_hub import save_torch_state_dict
from safetensors.numpy import save_file as save_numpy
from safetensors.torch import save_file as save_torch

HERE = pathlib.Path(__file__).parent
TORCH_TYPES = """float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz
float8_e5m2fnuz float8_e8m0fnu complex64 int64 int32 int16 int8 uint64 uint32 uint16 uint8
bool""".split()


def ramp(shape, dtype=torch.float32):
    i = torch.arange(int(np.prod(shape)), dtype=torch.float64)
    if dtype == torch.bool:
        values = i % 3 == 0
    elif dtype == torch.float8_e8m0fnu:
        values = 2 ** (i % 4)
    elif dtype.is_complex:
        values = torch.complex(i % 11 - 3, i % 5)
    elif str(dtype).startswith("torch.uint"):
        values = (i % 11).to(torch.int64)
    else:
        values = i % 11 - 3
    # float32 first: there is no direct conversion of every type
    if dtype.is_floating_point:
        values = values.float()
    return values.to(dtype).reshape(shape)


def numpy_ramp(shape, dtype):
    i = np.arange(int(np.prod(shape)))
    kind = np.dtype(dtype).kind
    if kind == "b":
        values = i % 3 == 0
    elif kind == "u":
        values = i % 11
    elif kind == "c":
        values = (i % 11 - 3) + 1j * (i % 5)
    else:
        values = i % 11 - 3
    return values.astype(dtype).reshape(shape)


def make_safetensors(folder):
    tensors = {name: ramp((2, 3), getattr(torch, name)) for name in TORCH_TYPES}
    tensors["scalar"] = ramp(())
    tensors["empty"] = ramp((0, 3))
    tensors["name with \"quotes\", \\ and ü"] = ramp((1,))
    save_torch(tensors, folder / "torch.safetensors", metadata={"format": "pt", "note": "ü\n2"})
    save_numpy({"a": numpy_ramp((3, 5), "<f4"), "b": numpy_ramp((7,), "u1"),
                "c": numpy_ramp((2, 2), "<u2")}, folder / "numpy.safetensors")
    state = {f"layer.{i}.weight": ramp((8, 4)) + i for i in range(5)}
    sharded = folder / "sharded"
    sharded.mkdir(exist_ok=True)
    save_torch_state_dict(state, sharded, max_shard_size=300)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Linear(4, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.register_buffer("table", ramp((2, 2), torch.bfloat16))
        with torch.no_grad():
            self.proj.weight.copy_(ramp((3, 4)))
            self.proj.bias.copy_(ramp((3,)))

    def forward(self, x):
        return self.norm(self.proj(x))


class Scripted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(ramp(()))
        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 2).half())
        self.sizes = [1, 2]
        self.kept = [torch.ones(1)]
        self.register_buffer("count", ramp((2,), torch.int64))
        for layer in self.layers:
            layer.weight.data.copy_(ramp(layer.weight.shape, layer.weight.dtype))
            layer.bias.data.copy_(ramp(layer.bias.shape, layer.bias.dtype))

    def forward(self, x):
        return self.layers[0](x) * self.scale + len(self.sizes) + self.kept[0]


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


def repack(source, target, method, without="no such suffix"):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            if not name.endswith(without):
                new.writestr(zipfile.ZipInfo(name), old.read(name), method)


def make_pth(folder):
    net = Net()
    torch.save(net.state_dict(), folder / "state_dict.pth")

    attributed = torch.nn.Parameter(ramp((2,)))
    attributed.note = "kept beside the tensor"
    torch.save({"parameter": torch.nn.Parameter(ramp((2, 3))),
                "frozen": torch.nn.Parameter(ramp((3,)), requires_grad=False),
                "attributed": attributed}, folder / "parameter.pth")

    base = ramp((4, 6))
    torch.save({"base": base, "row": base[1], "column": base[:, 2], "transposed": base.t(),
                "block": base[1:3, 2:5], "expanded": ramp((1, 3)).expand(4, 3),
                "half": ramp((3,), torch.float16), "empty": ramp((0, 5)), "scalar": ramp(()),
                }, folder / "views.pth")

    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1, betas=(0.9, 0.95))
    net(ramp((2, 4))).sum().backward()
    optimizer.step()
    weights = Net().state_dict()
    torch.save({"model": weights, "optimizer": optimizer.state_dict(), "epoch": 3,
                "loss": 0.25, "big": 2 ** 40, "negative": -5, "note": "text", "blob": b"\0\xff",
                "shape": torch.Size([1, 2]), "dtype": torch.bfloat16,
                "device": torch.device("cpu"), "none": None, "flags": (True, False)},
               folder / "training.pth")
    torch.save({"epoch": 1, "state_dict": {"module": collections.OrderedDict(a=ramp((2, 2)))},
                "ema": {"a": ramp((2, 2))}}, folder / "nested.pth")

    torch.save({name: ramp((2, 3), getattr(torch, name)) for name in TORCH_TYPES},
               folder / "dtypes.pth")
    for protocol in (3, 4, 5):
        torch.save({"net": Net().state_dict(), "list": [ramp((2,)), {"x": ramp((3,))}],
                    "blob": b"bytes", "set": {1, 2} if protocol > 3 else None,
                    "frozen": frozenset((1, 2)) if protocol > 3 else None},
                   folder / f"protocol{protocol}.pth", pickle_protocol=protocol)
    torch.save(ramp((2, 3)), folder / "tensor.pth")
    torch.save([ramp((2,)), ramp((3,))], folder / "list.pth")
    torch.serialization.set_crc32_options(False)
    for protocol, name in ((2, "no_checksum.pth"), (5, "no_checksum5.pth")):
        torch.save({"a": ramp((2, 3)), "p": torch.nn.Parameter(ramp((3,), torch.float16)),
                    "s": ramp((2,), torch.uint16), "b": b"b", "i": -300, "f": 0.5,
                    "d": collections.OrderedDict(t=ramp((2, 2)).t(), l=[ramp((0, 2)), None]),
                    "size": torch.Size((1, 2))}, folder / name, pickle_protocol=protocol)
    torch.serialization.set_crc32_options(True)

    # As written by a tool that unpacks an archive and packs it again.
    repack(folder / "views.pth", folder / "deflated.pth", zipfile.ZIP_DEFLATED)

    # Refused.
    torch.save({"a": ramp((2,))}, folder / "legacy.pth", _use_new_zipfile_serialization=False)
    torch.save({"a": ramp((2,)), "evil": Evil()}, folder / "evil.pth")
    torch.save({"a": ramp((2,)), "evil": Evil()}, folder / "evil4.pth", pickle_protocol=4)
    torch.save({"a": ramp((2,)), "score": np.float64(1)}, folder / "numpy_scalar.pth")
    torch.save({"a": ramp((2,), torch.complex64).conj()}, folder / "conjugate.pth")
    torch.save({"a": ramp((2, 2)).to_sparse()}, folder / "sparse.pth")
    torch.save(torch.nn.Linear(1, 1), folder / "module.pth")
    program = io.BytesIO()
    torch.jit.save(torch.jit.script(Scripted()), program)
    repack(program, folder / "script.pt", zipfile.ZIP_STORED, without=".debug_pkl")


def make_npy(folder):
    arrays = {name.replace("<", "").replace("|", ""): numpy_ramp((2, 3), name)
              for name in "|b1 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 <f2 <f4 <f8 <c8 <c16".split()}
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays, zeros=np.zeros((200, 100), np.float32))
    np.savez(folder / "positional.npz", numpy_ramp((2,), "<f4"), numpy_ramp((3,), "<f8"))
    np.save(folder / "poses.npy", numpy_ramp((3, 4, 4), "<f4"))
    np.save(folder / "fortran.npy", np.asfortranarray(numpy_ramp((2, 3, 4), "<f8")))
    np.save(folder / "big_endian.npy", numpy_ramp((2, 3), ">f4"))
    np.save(folder / "big_endian_complex.npy", numpy_ramp((2, 3), ">c16"))
    np.save(folder / "big_endian_fortran.npy", np.asfortranarray(numpy_ramp((2, 3), ">i2")))
    np.save(folder / "scalar.npy", np.float32(-3))
    np.save(folder / "empty.npy", np.zeros((0, 4), np.float32))
    np.save(folder / "special.npy", np.array([np.nan, np.inf, -np.inf, -0.0], np.float32))
    for version in (2, 3):
        with open(folder / f"version{version}.npy", "wb") as file:
            np.lib.format.write_array(file, numpy_ramp((5,), "<i8"), version=(version, 0))
    # Refused.
    np.save(folder / "object.npy", np.array([{"a": 1}, None], dtype=object), allow_pickle=True)
    np.save(folder / "text.npy", np.array(["ab", "c"]))
    np.save(folder / "record.npy", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")]))
    np.save(folder / "date.npy", np.array(["2020-01-01"], dtype="datetime64[D]"))
    np.save(folder / "long_double.npy", np.zeros(2, np.longdouble))


if __name__ == "__main__":
    for make, name in ((make_safetensors, "safetensors"), (make_pth, "pth"), (make_npy, "npy")):
        (HERE / name).mkdir(exist_ok=True)
        make(HERE / name)
