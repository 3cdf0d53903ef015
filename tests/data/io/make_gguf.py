# SPDX-License-Identifier: Apache-2.0
"""Writes the GGUF files of the folder gguf/ with the package `gguf`, and the values that it computes from them.

    python3 -m venv venv && venv/bin/pip install gguf numpy safetensors
    venv/bin/python make_gguf.py

types.gguf            a tensor of every supported type; q2_k to q6_k have random bits, since the package does not
                      quantize to these types
types.safetensors     the same tensors in FP32, dequantized by the package
version2.gguf         the types with 32 elements per block in a file of version 2
layout.gguf           metadata of every type, an alignment of 64 bytes, tensors of 1 to 5 dimensions, and a tensor with
                      other rows than its original shape
unsupported.gguf      a tensor of the type IQ4_NL
"""
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent / "gguf"
PLAIN = {Type.F32: np.float32, Type.F16: np.float16, Type.F64: np.float64, Type.I8: np.int8,
         Type.I16: np.int16, Type.I32: np.int32, Type.I64: np.int64}
SMALL = (Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1)
# Offsets of the half-precision numbers in a block.
HALVES = {Type.Q2_K: (80, 82), Type.Q3_K: (108,), Type.Q4_K: (0, 2), Type.Q5_K: (0, 2), Type.Q6_K: (208,)}
rng = np.random.default_rng(7)


def ramp(shape, dtype=np.float32):
    return (np.arange(int(np.prod(shape))) % 11 - 3).astype(dtype).reshape(shape)


def random_blocks(type_, rows, blocks):
    size = gguf.GGML_QUANT_SIZES[type_][1]
    data = rng.integers(0, 256, (rows, blocks, size), dtype=np.uint8)
    for offset in HALVES[type_]:
        halves = rng.normal(0, 0.01, (rows, blocks)).astype(np.float16)
        halves[0, 0], halves[-1, -1] = 0, np.float16(6e-8)  # the smallest subnormal number
        data[:, :, offset:offset + 2] = halves[..., None].view(np.uint8)
    return data.reshape(rows, blocks * size)


def write(name, fill, version=3):
    path = HERE / name
    writer = gguf.GGUFWriter(path, "wan")
    fill(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if version != 3:
        content = bytearray(path.read_bytes())
        content[4:8] = version.to_bytes(4, "little")
        path.write_bytes(content)


# The data of the last type fill whole multiples of the alignment, so that the file does not end with padding.
def small_types():
    for type_ in SMALL:
        yield type_, gguf.quantize(rng.normal(0, 0.5, (4, 64)).astype(np.float32), type_)


def make_types():
    tensors = {}
    for type_, dtype in PLAIN.items():
        tensors[type_.name.lower()] = (ramp((2, 3), dtype), None)
    numbers = rng.normal(0, 1, (2, 6)).astype(np.float32)
    tensors["bf16"] = (gguf.quantize(numbers, Type.BF16), Type.BF16)
    for type_, data in small_types():
        tensors[type_.name.lower()] = (data, type_)
    for type_ in HALVES:
        tensors[type_.name.lower()] = (random_blocks(type_, 2, 1), type_)

    def fill(writer):
        for name, (data, type_) in tensors.items():
            writer.add_tensor(name, data, raw_dtype=type_)

    write("types.gguf", fill)
    save_file({name: np.ascontiguousarray(data if type_ is None else gguf.dequantize(data, type_))
               for name, (data, type_) in tensors.items()}, HERE / "types.safetensors")

    def fill_small(writer):
        for type_ in SMALL:
            name = type_.name.lower()
            writer.add_tensor(name, tensors[name][0], raw_dtype=type_)

    write("version2.gguf", fill_small, version=2)


def make_layout():
    def fill(writer):
        writer.add_custom_alignment(64)
        writer.add_uint8("a.uint8", 200)
        writer.add_int8("a.int8", -5)
        writer.add_uint16("a.uint16", 60000)
        writer.add_int16("a.int16", -300)
        writer.add_uint32("a.uint32", 4_000_000_000)
        writer.add_int32("a.int32", -70000)
        writer.add_float32("a.float32", 0.5)
        writer.add_bool("a.bool", True)
        writer.add_string("a.string", "words \u00fc")
        writer.add_uint64("a.uint64", 2 ** 63)
        writer.add_int64("a.int64", -2 ** 40)
        writer.add_float64("a.float64", 0.25)
        writer.add_array("a.strings", ["one", "", "three"])
        writer.add_array("a.numbers", [1, 2, 3])
        writer.add_array("a.floats", [0.5, 1.5])
        writer.add_array("comfy.gguf.orig_shape.reshaped", (4, 3, 2, 16))
        writer.add_tensor("one", ramp((5,)))
        writer.add_tensor("five", ramp((2, 3, 1, 2, 2)))
        data = gguf.quantize(ramp((12, 32)), Type.Q8_0)
        writer.add_tensor("reshaped", data, raw_dtype=Type.Q8_0)
        writer.add_tensor("last", ramp((4, 8), np.float16))

    write("layout.gguf", fill)
    write("unsupported.gguf", lambda writer: writer.add_tensor(
        "strange", np.zeros((1, 18), np.uint8), raw_dtype=Type.IQ4_NL))


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    make_types()
    make_layout()
