# SPDX-License-Identifier: Apache-2.0
"""The commands that the tests of kills and power losses interrupt, on a tiny model, and comparisons of their files."""

import filecmp
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import time
import zlib

UPDATES = 8  # of a training run


class Jobs:
    def __init__(self, loci, make_folder, folder):
        self.loci = str(pathlib.Path(loci).resolve())
        self.folder = folder
        self.model = folder / "model"
        subprocess.run([make_folder, str(self.model)], check=True)
        write_picture(folder / "first.png", 48, 32)

    def command(self, *arguments):
        return [self.loci, "--quiet", "--threads", "1", *map(str, arguments)]

    def run(self, *arguments, environment=None):
        """Runs to the end and returns the seconds that it took."""
        begun = time.monotonic()
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True,
                              env={**os.environ, **(environment or {})})
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, arguments))}: {done.returncode}, {done.stderr}")
        return time.monotonic() - begun

    def generate(self, folder, seed):
        """Arguments that write a.mp4, a.latents and a.world to the folder."""
        return ["generate", "--model", self.model, "--image", self.folder / "first.png", "--trajectory",
                "w-16,left-16", "--seed", seed, "--out", folder / "a.mp4", "--save-world", folder / "a.world"]

    @staticmethod
    def unfinished(folder):
        """Whether a run of generate() in this folder has to be continued with --resume."""
        record = folder / "a.latents" / "run.json"
        return record.exists() and not json.loads(record.read_text()).get("finished", False)

    def dataset(self, kind, out):
        """Arguments that write four clips: kind is record, tar or encode."""
        common = ["--count", 4, "--frames", 17, "--size", "48x32", "--workers", 1]
        if kind == "encode":
            return ["world", "encode", "--vae", self.model / "vae", "--out", out, *common]
        return ["world", "record", out, *common, *(["--tar", "--clips-per-tar", 2] if kind == "tar" else [])]

    def train_config(self):
        """Writes clips and a config of UPDATES updates with a checkpoint after each. Returns the config."""
        clips = self.folder / "clips"
        self.run("world", "encode", "--vae", self.model / "vae", "--out", clips, "--count", 2, "--frames", 33,
                 "--size", "48x32", "--workers", 1)
        config = self.folder / "train.json"
        config.write_text(json.dumps({
            "model": {"num_attention_heads": 1, "num_layers": 2, "in_channels": 3, "ffn_dim": 64, "text_dim": 16,
                      "text_len": 4, "freq_dim": 32, "chunk_size": 2, "hybrid_layers": [1],
                      "camera_attn_compress": 1},
            "updates": UPDATES, "batch": 1, "seed": 3, "checkpoint_minutes": 0, "keep_checkpoints": 2,
            "phases": [{"from": 0, "window": 5, "data": [{"folder": str(clips)}]}]}))
        return config

    @staticmethod
    def last_checkpoint(run):
        return run / f"checkpoint-{UPDATES:08}"


def losses(run):
    """The losses in metrics.jsonl of a training run."""
    return [json.loads(line)["loss"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def write_picture(path, width, height):
    rows = b"".join(b"\0" + bytes(c for x in range(width) for c in (x * 5 % 256, y * 7 % 256, 99))
                    for y in range(height))

    def part(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    path.write_bytes(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                     + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))


def hidden(path):
    return path.startswith(".") or "/." in path


def files_of(folder):
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()) if folder.exists() else []


def same_files(a, b, names):
    return all((b / n).exists() and filecmp.cmp(a / n, b / n, shallow=False) for n in names)


def expect_same(a, b, names=None):
    """Compares the bytes of two folders. Returns the number of files."""
    if names is None:
        names = files_of(a)
        if names != [n for n in files_of(b) if not hidden(n)]:
            raise AssertionError(f"{b} has {files_of(b)}, expected {names}")
    for name in names:
        if not filecmp.cmp(a / name, b / name, shallow=False):
            raise AssertionError(f"{b / name} differs from {a / name}")
    return len(names)


def expect_no_leftovers(folder):
    left = [f for f in folder.rglob(".*") if ".loci-" in f.name]
    if left:
        raise AssertionError(f"left behind by killed processes: {', '.join(map(str, left))}")


def chunk_files(data, world):
    """The hashes of the chunks of a server's world, by file name."""
    folder = next(data.rglob(world)) / "chunks"
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.glob("[!.]*.safetensors")}
