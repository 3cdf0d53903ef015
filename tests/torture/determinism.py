#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same seed, threads and kernels give the same bytes, in every process.

Usage: determinism.py LOCI MAKE_TINY_FOLDER

Runs every command with outputs twice, each time in a new process and a new folder, and compares all bytes.
Repeats this with two threads and with every instruction set that the machine supports. docs/reliability.md
lists the differences that are allowed between them. On a difference: one line and exit code 1."""

import json
import os
import pathlib
import subprocess
import sys

from jobs import files_of, write_picture
from scratch import run_in_scratch

# Files that contain times.
TIMED = ("metrics.jsonl", ".json", "events.out")


def content(folder):
    """All files by name, except those that contain times."""
    found = {}
    for name in files_of(folder):
        if any(part in name for part in TIMED):
            continue
        found[name] = (folder / name).read_bytes()
    return found


class Repeat:
    def __init__(self, loci, make_folder, folder):
        self.loci, self.folder = loci, folder
        self.model = folder / "model"
        subprocess.run([make_folder, str(self.model)], check=True)
        write_picture(folder / "first.png", 48, 32)
        self.count = 0

    def run(self, threads, environment, *arguments):
        done = subprocess.run([self.loci, "--quiet", "--threads", str(threads), *map(str, arguments)],
                              capture_output=True, text=True, env={**os.environ, **environment})
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, arguments))}: {done.stderr}")

    def twice(self, name, job, threads=1, environment=None):
        """Runs the job twice, checks that the bytes are equal and returns them."""
        made = []
        for _ in range(2):
            self.count += 1
            out = self.folder / f"{self.count}"
            out.mkdir()
            for arguments in job(out):
                self.run(threads, environment or {}, *arguments)
            made.append(content(out))
        if not made[0]:
            raise AssertionError(f"{name} wrote no files")
        if made[0] != made[1]:
            names = [n for n in made[0] if made[0][n] != made[1].get(n)]
            raise AssertionError(f"{name}, {threads} threads, {environment}: {names} differ")
        return made[0]


def main():
    loci, make_folder = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])

    def work(folder):
        repeat = Repeat(loci, make_folder, folder)
        clips = folder / "clips"
        repeat.run(1, {}, "world", "encode", "--vae", repeat.model / "vae", "--out", clips, "--count", 2,
                   "--frames", 33, "--size", "48x32", "--workers", 1)
        config = folder / "train.json"
        config.write_text(json.dumps({
            "model": {"num_attention_heads": 1, "num_layers": 2, "in_channels": 3, "ffn_dim": 64,
                      "text_dim": 16, "text_len": 4, "freq_dim": 32, "chunk_size": 2, "hybrid_layers": [1],
                      "camera_attn_compress": 1},
            "updates": 3, "batch": 2, "seed": 3,
            "phases": [{"from": 0, "window": 5, "data": [{"folder": str(clips)}]}]}))

        def generate(*more):
            return lambda out: [["generate", "--model", repeat.model, "--image", folder / "first.png",
                                 "--trajectory", "w-16,left-16", "--seed", 7, "--out", out / "a.mp4",
                                 "--save-world", out / "a.world", *more]]

        jobs = {
            "generate": generate(),
            "generate with guidance, BF16, INT8": generate("--guidance", 2, "--dtype", "bf16", "--kv", "int8"),
            "world record": lambda out: [["world", "record", out / "x", "--count", 2, "--frames", 9, "--size",
                                          "48x32", "--workers", 2]],
            "world encode": lambda out: [["world", "encode", "--vae", repeat.model / "vae", "--out", out / "x",
                                          "--count", 2, "--frames", 9, "--size", "48x32", "--workers", 2]],
            "train": lambda out: [["train", config, "--out", out / "run"]],
        }
        results = {}
        for name, job in jobs.items():
            results[name] = repeat.twice(name, job)
            print(f"{name}: the same bytes twice", flush=True)
        one = results["generate"]
        two = repeat.twice("generate", generate(), threads=2)
        print(f"generate with two threads: the same bytes twice, {'equal to' if one == two else 'different from'} those of one thread")
        recorded = None
        for level in ("plain", "avx2", "avx512"):
            environment = {"LOCI_ISA": level}
            if subprocess.run([loci, "doctor"], capture_output=True, env={**os.environ, **environment}).returncode == 3:
                continue  # not supported by this machine
            made = repeat.twice("generate", generate(), environment=environment)
            print(f"generate with {level} kernels: the same bytes twice, "
                  f"{'equal to' if made == one else 'different from'} those of the best instruction set")
            # Scenes are rendered identically with every instruction set, so training data do not depend on
            # the machine.
            drawn = repeat.twice("world record", jobs["world record"], environment=environment)
            if recorded not in (None, drawn):
                raise AssertionError(f"world record with {level} kernels differs from other levels")
            recorded = drawn

    return run_in_scratch("determinism", work)


if __name__ == "__main__":
    sys.exit(main())
