#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills `loci` repeatedly at random moments and checks that no data are lost.

Usage: torture.py LOCI MAKE_TINY_FOLDER [--rounds N] [--seed S] [--only NAME,…] [--keep]

After every SIGKILL: an existing file is either the complete old one or the complete new one; continued work
gives the same bytes as uninterrupted work; and the files that killed processes leave behind do not accumulate.
`--rounds` is the number of kills of each kind: 3 by default, hundreds for a night. On a failure: one line and
exit code 1."""

import argparse
import filecmp
import hashlib
import json
import pathlib
import random
import shutil
import subprocess
import sys
import time
import zlib
import struct

from scratch import run_in_scratch
from walker import Server, Walk, wait_for


class Torture:
    def __init__(self, options, folder):
        self.loci = str(pathlib.Path(options.loci).resolve())
        self.rounds = options.rounds
        self.chance = random.Random(options.seed)
        self.folder = folder
        self.model = folder / "model"
        self.kills = 0
        self.ends = 0  # processes that ended before they were killed
        subprocess.run([options.make_folder, str(self.model)], check=True)
        write_picture(folder / "first.png", 48, 32)

    # Processes.

    def command(self, *arguments):
        return [self.loci, "--quiet", "--threads", "1", *map(str, arguments)]

    def run(self, *arguments, code=0):
        """Runs to the end and returns stderr."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True)
        if done.returncode != code:
            raise AssertionError(f"{' '.join(map(str, arguments))}: {done.returncode}, {done.stderr}")
        return done.stderr

    def time(self, *arguments):
        begun = time.monotonic()
        self.run(*arguments)
        return time.monotonic() - begun

    def kill_within(self, seconds, *arguments):
        """Runs and kills at a random moment. Returns whether the process was still running."""
        process = subprocess.Popen(self.command(*arguments), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=self.chance.uniform(0, seconds))
            self.ends += 1
            return False
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.kills += 1
            return True

    # Kinds of jobs.

    def generate(self):
        """A video and a world replace older files completely or not at all."""
        arguments = ["generate", "--model", self.model, "--image", self.folder / "first.png",
                     "--trajectory", "w-16,left-16"]

        def outputs(folder, seed):
            return [*arguments, "--seed", seed, "--out", folder / "a.mp4", "--save-world", folder / "a.world"]

        old, new, work = (self.folder / f"generate-{name}" for name in ("old", "new", "work"))
        for folder in (old, new):
            folder.mkdir()
        self.run(*outputs(old, 1))
        seconds = self.time(*outputs(new, 2))
        names = ("a.mp4", "a.world")
        for _ in range(self.rounds):
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(old, work)
            killed, tries = True, 0
            while killed:
                # Every attempt resumes the one before. The last attempts are not killed.
                tries += 1
                resume = (work / "a.latents" / "run.json").exists() and not json.loads(
                    (work / "a.latents" / "run.json").read_text()).get("finished", False)
                more = ["--resume"] if resume else []
                killed = self.kill_within(seconds * 1.2 if tries < 4 else 600, *outputs(work, 2), *more)
                for name in names:
                    content = (work / name).read_bytes()
                    if content not in ((old / name).read_bytes(), (new / name).read_bytes()):
                        raise AssertionError(f"{name} is neither the old nor the new file after a kill")
            if not same_files(new, work, names):
                self.run(*outputs(work, 2))  # finished, but killed before the world was written
            expect_same(new, work, names)
            expect_same(new / "a.latents", work / "a.latents")
            expect_no_leftovers(work)
        # The world continues like that of an uninterrupted run.
        for folder in (new, work):
            self.run("generate", "--model", self.model, "--load-world", folder / "a.world", "--trajectory",
                     "right-16", "--out", folder / "b.mp4")
        expect_same(new, work, ["b.mp4"])

    def dataset(self):
        """Recordings and latents: complete clips stay, missing ones are added."""
        common = ["--count", 4, "--frames", 17, "--size", "48x32", "--workers", 1]
        jobs = {"record": lambda out: ["world", "record", out, *common],
                "tar": lambda out: ["world", "record", out, *common, "--tar", "--clips-per-tar", 2],
                "encode": lambda out: ["world", "encode", "--vae", self.model / "vae", "--out", out, *common]}
        for name, job in jobs.items():
            whole, parts = self.folder / f"{name}-whole", self.folder / f"{name}-parts"
            seconds = self.time(*job(whole))
            shutil.rmtree(parts, ignore_errors=True)
            for _ in range(self.rounds):
                if not self.kill_within(seconds * 1.1, *job(parts)):
                    shutil.rmtree(parts, ignore_errors=True)
                    continue
                for file in files_of(parts):
                    if not hidden(file) and not filecmp.cmp(whole / file, parts / file, shallow=False):
                        raise AssertionError(f"{file} of a killed '{name}' differs")
            self.run(*job(parts))
            expect_same(whole, parts)
            expect_no_leftovers(parts)

    def train(self):
        """A killed training run continues to the same bytes."""
        clips = self.folder / "clips"
        self.run("world", "encode", "--vae", self.model / "vae", "--out", clips, "--count", 2, "--frames", 33,
                 "--size", "48x32", "--workers", 1)
        recipe = {"model": {"num_attention_heads": 1, "num_layers": 2, "in_channels": 3, "ffn_dim": 64,
                            "text_dim": 16, "text_len": 4, "freq_dim": 32, "chunk_size": 2,
                            "hybrid_layers": [1], "camera_attn_compress": 1},
                  "updates": 8, "batch": 1, "seed": 3, "checkpoint_minutes": 0, "keep_checkpoints": 2,
                  "phases": [{"from": 0, "window": 5, "data": [{"folder": str(clips)}]}]}
        config = self.folder / "train.json"
        config.write_text(json.dumps(recipe))
        whole, run = self.folder / "run-whole", self.folder / "run"
        seconds = self.time("train", config, "--out", whole)
        for _ in range(self.rounds):
            if not run.exists() or (run / "checkpoint-00000008").exists():
                shutil.rmtree(run, ignore_errors=True)
            self.kill_within(seconds, "train", config, "--out", run, "--resume")
            for folder in run.glob("checkpoint-*") if run.exists() else []:
                json.loads((folder / "state.json").read_text())
        self.run("train", config, "--out", run, "--resume")
        expect_same(whole / "checkpoint-00000008", run / "checkpoint-00000008")
        expect_no_leftovers(run)
        losses = [[json.loads(line)["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
                  for folder in (whole, run)]
        if losses[0] != losses[1]:
            raise AssertionError("the losses of a killed and resumed run differ")

    def serve(self):
        """A walk and a video job continue in the next server process without differences."""
        chunks = 6
        video = {"seconds": 1, "seed": 5, "prompt": ""}
        # The reference without kills.
        whole = Server(self.loci, self.model, self.folder / "data-whole")
        walk = Walk(whole, seed=9, max_chunks=chunks)
        begun = time.monotonic()
        world = walk.until("session")["world"]
        walk.until("chunk_stats", chunk_index=chunks)
        seconds = time.monotonic() - begun
        walk.close()
        job = whole.request("/v1/videos", video)["id"]
        wait_for(lambda: whole.request(f"/v1/videos/{job}")["status"] == "completed", what="a video")
        film = whole.request(f"/v1/videos/{job}/content")
        whole.stop()
        expected = chunk_files(self.folder / "data-whole", world)

        data = self.folder / "data"
        for _ in range(self.rounds):
            shutil.rmtree(data, ignore_errors=True)
            world, job, seen, kills = None, None, 0, 0
            while True:
                server = Server(self.loci, self.model, data)
                try:
                    if job is None:
                        job = server.request("/v1/videos", video)["id"]
                    walk = (Walk(server, seed=9, max_chunks=chunks) if world is None
                            else Walk(server, world=world, max_chunks=chunks))
                    world = walk.until("session")["world"]
                    end = time.monotonic() + self.chance.uniform(0, seconds)
                    while time.monotonic() < end and seen < chunks:
                        message = walk.next()
                        if message["type"] == "error":
                            raise AssertionError(f"a killed walk does not continue: {message}")
                        if message["type"] == "chunk_stats":
                            seen = max(seen, message["chunk_index"])
                finally:
                    server.kill()
                self.kills += 1
                kills += 1
                # Every chunk that was sent to the client is stored.
                made = chunk_files(data, world)
                for name, content in made.items():
                    if name in expected and content != expected[name]:
                        raise AssertionError(f"{name} of a killed walk differs")
                if len(made) < seen + 1:
                    raise AssertionError(f"chunk {seen} was sent and is lost")
                if seen >= chunks:
                    break
            server = Server(self.loci, self.model, data)
            wait_for(lambda: server.request(f"/v1/videos/{job}")["status"] in ("completed", "failed"),
                     what="a video that was interrupted")
            # The server gives up a job after three crashes.
            if server.request(f"/v1/videos/{job}")["status"] == "completed":
                if server.request(f"/v1/videos/{job}/content") != film:
                    raise AssertionError("an interrupted video differs")
            elif kills < 3:
                raise AssertionError(f"a video was given up after {kills} kills")
            walk = Walk(server, world=world, paused=True)
            walk.until("session")
            walk.send(type="save", name="kept", request_id=1)
            saved = walk.until("saved")["world"]["id"]
            walk.close()
            if all(w["id"] != saved for w in server.request("/v1/worlds")["data"]):
                raise AssertionError("a saved world is not listed")
            server.stop()
            expect_no_leftovers(data)


def write_picture(path, width, height):
    rows = b"".join(b"\0" + bytes(c for x in range(width) for c in (x * 5 % 256, y * 7 % 256, 99))
                    for y in range(height))

    def part(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    path.write_bytes(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                     + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))


def hidden(path):
    return any(piece.startswith(".") for piece in pathlib.Path(path).parts)


def files_of(folder):
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()) if folder.exists() else []


def same_files(a, b, names):
    return all((b / n).exists() and filecmp.cmp(a / n, b / n, shallow=False) for n in names)


def expect_same(a, b, names=None):
    if names is None:
        names = files_of(a)
        if names != [n for n in files_of(b) if not hidden(n)]:
            raise AssertionError(f"{b} has {files_of(b)}, expected {names}")
    for name in names:
        if not filecmp.cmp(a / name, b / name, shallow=False):
            raise AssertionError(f"{b / name} differs from {a / name}")


def expect_no_leftovers(folder):
    left = [f for f in folder.rglob(".*") if ".loci-" in f.name]
    if left:
        raise AssertionError(f"left behind by killed processes: {', '.join(map(str, left))}")


def chunk_files(data, world):
    folder = next(data.rglob(world)) / "chunks"
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.glob("[!.]*.safetensors")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loci")
    parser.add_argument("make_folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="generate,dataset,train,serve")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")
    options = parser.parse_args()

    def work(folder):
        torture = Torture(options, folder)
        for name in options.only.split(","):
            before, begun = torture.kills, time.monotonic()
            getattr(torture, name)()
            print(f"{name}: {torture.kills - before} kills in {time.monotonic() - begun:.0f} s, nothing lost",
                  flush=True)

    return run_in_scratch(f"torture --seed {options.seed}", work, options.keep)


if __name__ == "__main__":
    sys.exit(main())
