#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills `loci` repeatedly at random moments and checks that no data are lost.

Usage: torture.py LOCI MAKE_TINY_FOLDER [--kills N] [--seed S] [--only NAME,…] [--keep]

After every SIGKILL: an existing file is either the complete old one or the complete new one; continued work
gives the same bytes as uninterrupted work; and the files that killed processes leave behind do not accumulate.
`--kills` is the least number of kills in total, divided among the kinds of jobs: 10 by default. A kill counts only
if the process had changed its files before; for `serve`, only if it had added a chunk to every unfinished walk.
Prints a line per kind. On a failure: one line and exit code 1."""

import argparse
import filecmp
import os
import random
import shutil
import subprocess
import sys
import threading
import time

from jobs import Jobs, chunk_files, expect_no_leftovers, expect_same, files_of, hidden, losses, same_files
from scratch import run_in_scratch
from walker import Closed, Server, Walk, wait_for

WALKS = 2
CHUNKS = 24  # per walk


class Counts:
    """What happened to one kind of job."""

    def __init__(self):
        self.kills = 0  # counted
        self.early = 0  # the process had not changed anything yet
        self.ends = 0  # the process ended before it was killed
        self.compared = 0  # files or chunks compared with those of an uninterrupted run


class Torture:
    def __init__(self, options, folder):
        self.jobs = Jobs(options.loci, options.make_folder, folder)
        self.chance = random.Random(options.seed)
        self.folder = folder
        self.counts = Counts()
        self.wanted = 0

    def start(self, *arguments):
        return subprocess.Popen(self.jobs.command(*arguments), stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def time(self, out, *arguments):
        """Runs to the end. Returns the seconds until the first change in the folder `out`, and in total."""
        begun, before, first = time.monotonic(), state_of(out), None
        process = self.start(*arguments)
        while process.poll() is None:
            if first is None and state_of(out) != before:
                first = time.monotonic() - begun
            time.sleep(0.005)
        if process.returncode != 0:
            self.jobs.run(*arguments)  # reports its error
        total = time.monotonic() - begun
        return first or total, total

    def kill_within(self, seconds, out, *arguments):
        """Runs, and kills at a random moment around the time of the changes. Returns whether the process was
        still running."""
        first, total = seconds
        before = state_of(out)
        process = self.start(*arguments)
        try:
            process.wait(timeout=self.chance.uniform(0.8 * first, 1.1 * total))
            self.counts.ends += 1
            return False
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if state_of(out) == before:
            self.counts.early += 1
        else:
            self.counts.kills += 1
        return True

    def more(self):
        return self.counts.kills < self.wanted

    # Kinds of jobs.

    def generate(self):
        """A video and a world replace older files completely or not at all."""
        jobs = self.jobs
        old, new, work = (self.folder / f"generate-{name}" for name in ("old", "new", "work"))
        for folder in (old, new):
            folder.mkdir()
        jobs.run(*jobs.generate(old, 1))
        seconds = self.time(new, *jobs.generate(new, 2))
        names = ("a.mp4", "a.world")
        while self.more():
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(old, work)
            killed, tries = True, 0
            while killed:
                # Every attempt resumes the one before. The last attempts are not killed.
                tries += 1
                arguments = [*jobs.generate(work, 2), *(["--resume"] if jobs.unfinished(work) else [])]
                if tries < 4:
                    killed = self.kill_within(seconds, work, *arguments)
                else:
                    jobs.run(*arguments)
                    killed = False
                for name in names:
                    content = (work / name).read_bytes()
                    if content not in ((old / name).read_bytes(), (new / name).read_bytes()):
                        raise AssertionError(f"{name} is neither the old nor the new file after a kill")
                    self.counts.compared += 1
            if not same_files(new, work, names):
                jobs.run(*jobs.generate(work, 2))  # finished, but killed before the world was written
            self.counts.compared += expect_same(new, work, names)
            self.counts.compared += expect_same(new / "a.latents", work / "a.latents")
            expect_no_leftovers(work)
        # The world continues like that of an uninterrupted run.
        for folder in (new, work):
            jobs.run("generate", "--model", jobs.model, "--load-world", folder / "a.world", "--trajectory",
                     "right-16", "--out", folder / "b.mp4")
        expect_same(new, work, ["b.mp4"])

    def encode(self):
        self.dataset("encode")

    def record(self):
        wanted, self.wanted = self.wanted, (self.wanted + 1) // 2
        self.dataset("record")
        self.wanted = wanted
        self.dataset("tar")

    def dataset(self, kind):
        """Recordings and latents: complete clips stay, missing ones are added."""
        whole, parts = self.folder / f"{kind}-whole", self.folder / f"{kind}-parts"
        seconds = self.time(whole, *self.jobs.dataset(kind, whole))
        while self.more():
            shutil.rmtree(parts, ignore_errors=True)
            while self.more() and self.kill_within(seconds, parts, *self.jobs.dataset(kind, parts)):
                for file in files_of(parts):
                    if hidden(file):
                        continue
                    if not filecmp.cmp(whole / file, parts / file, shallow=False):
                        raise AssertionError(f"{file} of a killed '{kind}' differs")
                    self.counts.compared += 1
            self.jobs.run(*self.jobs.dataset(kind, parts))
            self.counts.compared += expect_same(whole, parts)
            expect_no_leftovers(parts)

    def train(self):
        """A killed training run continues to the same bytes."""
        jobs = self.jobs
        config = jobs.train_config()
        whole, run, all_checkpoints = (self.folder / name for name in ("run-whole", "run", "run-all"))
        seconds = self.time(whole, "train", config, "--out", whole)
        every = config.with_name("train-every.json")
        every.write_text(config.read_text().replace('"keep_checkpoints": 2', '"keep_checkpoints": 100'))
        jobs.run("train", every, "--out", all_checkpoints)
        settings = ("config.json", "state.json")  # contain keep_checkpoints, and a checksum of it
        while self.more():
            shutil.rmtree(run, ignore_errors=True)
            while self.more() and self.kill_within(seconds, run, "train", config, "--out", run, "--resume"):
                for folder in run.glob("checkpoint-*"):
                    names = [name for name in files_of(all_checkpoints / folder.name) if name not in settings]
                    self.counts.compared += expect_same(all_checkpoints / folder.name, folder, names)
            jobs.run("train", config, "--out", run, "--resume")
            self.counts.compared += expect_same(jobs.last_checkpoint(whole), jobs.last_checkpoint(run))
            expect_no_leftovers(run)
            if losses(whole) != losses(run):
                raise AssertionError("the losses of a killed and resumed run differ")

    def serve(self):
        """Walks and a video job continue in the next server process without differences."""
        video = {"seconds": 1, "seed": 5, "prompt": ""}
        # The reference without kills.
        whole = Server(self.jobs.loci, self.jobs.model, self.folder / "data-whole")
        begun = time.monotonic()
        walkers = [Walker(whole, number) for number in range(WALKS)]
        for walker in walkers:
            walker.join()
        rhythm = (time.monotonic() - begun) / CHUNKS
        job = whole.request("/v1/videos", video)["id"]
        wait_for(lambda: whole.request(f"/v1/videos/{job}")["status"] == "completed", what="a video")
        film = whole.request(f"/v1/videos/{job}/content")
        whole.stop()
        expected = [chunk_files(self.folder / "data-whole", walker.world) for walker in walkers]
        data = self.folder / "data"
        while self.more():
            shutil.rmtree(data, ignore_errors=True)
            worlds, job, kills = [None] * WALKS, None, 0
            while worlds[0] is None or any(self.missing(data, world) for world in worlds):
                worlds, job = self.serve_once(data, worlds, job, video, rhythm, expected)
                kills += 1
            self.check_server(data, worlds, job, kills, film)

    @staticmethod
    def missing(data, world):
        return len(chunk_files(data, world)) <= CHUNKS

    def serve_once(self, data, worlds, job, video, rhythm, expected):
        """Runs a server with all unfinished walks, kills it, and checks the chunks on disk. Returns the ids of
        the worlds and of the video job."""
        server = Server(self.jobs.loci, self.jobs.model, data)
        try:
            if job is None:
                job = server.request("/v1/videos", video)["id"]
            walkers = [Walker(server, number, worlds[number],
                              0 if worlds[number] is None else len(chunk_files(data, worlds[number])) - 1)
                       for number in range(WALKS)
                       if worlds[number] is None or self.missing(data, worlds[number])]
            for walker in walkers:
                worlds[walker.number] = walker.world
            # A part of the servers is killed before all walks have advanced.
            end = time.monotonic() + self.chance.uniform(0, 8) * rhythm
            patient = self.chance.random() < 0.9
            while any(walker.is_alive() for walker in walkers) and (
                    time.monotonic() < end or (patient and not all(walker.advanced() for walker in walkers))):
                time.sleep(0.002)
        finally:
            server.kill()
        for walker in walkers:
            walker.join()
        if all(walker.advanced() for walker in walkers):
            self.counts.kills += 1
        else:
            self.counts.early += 1
        for walker in walkers:
            # Every chunk that was sent to the client is stored.
            made = chunk_files(data, walker.world)
            for name, content in made.items():
                if content != expected[walker.number].get(name):
                    raise AssertionError(f"{name} of a killed walk differs")
            if len(made) < walker.seen + 1:
                raise AssertionError(f"chunk {walker.seen} was sent and is lost")
            self.counts.compared += len(made)
        return worlds, job

    def check_server(self, data, worlds, job, kills, film):
        """A server after all kills: the video is complete, and the worlds can be saved."""
        server = Server(self.jobs.loci, self.jobs.model, data)
        wait_for(lambda: server.request(f"/v1/videos/{job}")["status"] in ("completed", "failed"),
                 what="a video that was interrupted")
        # The server gives up a job after three crashes.
        if server.request(f"/v1/videos/{job}")["status"] == "completed":
            if server.request(f"/v1/videos/{job}/content") != film:
                raise AssertionError("an interrupted video differs")
        elif kills < 3:
            raise AssertionError(f"a video was given up after {kills} kills")
        for world in worlds:
            walk = Walk(server, world=world, paused=True)
            walk.until("session")
            walk.send(type="save", name="kept", request_id=1)
            saved = walk.until("saved")["world"]["id"]
            walk.close()
            if all(w["id"] != saved for w in server.request("/v1/worlds")["data"]):
                raise AssertionError("a saved world is not listed")
        server.stop()
        expect_no_leftovers(data)


class Walker(threading.Thread):
    """Walks to chunk CHUNKS, or until the server is killed. The constructor returns when the walk has begun."""

    def __init__(self, server, number, world=None, stored=0):
        super().__init__(daemon=True)
        self.number = number
        self.stored = self.seen = stored  # the newest chunk before this connection, and the newest received
        self.problem = None
        start = {"seed": 9 + number} if world is None else {"world": world}
        self.walk = Walk(server, max_chunks=CHUNKS - stored, **start)
        self.world = self.walk.until("session")["world"]
        self.start()

    def run(self):
        try:
            while self.seen < CHUNKS:
                message = self.walk.next()
                if message["type"] == "error":
                    self.problem = f"a killed walk does not continue: {message}"
                    return
                if message["type"] == "chunk_stats":
                    self.seen = max(self.seen, message["chunk_index"])
        except Closed:
            pass  # the server was killed
        finally:
            self.walk.close()

    def advanced(self):
        return self.seen > self.stored

    def join(self, timeout=None):
        super().join(timeout)
        if self.problem:
            raise AssertionError(self.problem)


def state_of(folder):
    """Something that differs if a file below the folder was changed."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            try:
                status = os.stat(os.path.join(place, name))
                found[os.path.join(place, name)] = (status.st_ino, status.st_size, status.st_mtime_ns)
            except FileNotFoundError:
                pass  # removed meanwhile
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loci")
    parser.add_argument("make_folder")
    parser.add_argument("--kills", type=int, default=10, help="in total (default: 10)")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="serve,generate,train,encode,record")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")
    options = parser.parse_args()

    def work(folder):
        torture = Torture(options, folder)
        names = options.only.split(",")
        done = 0
        torture.wanted = -(-options.kills // len(names))
        for name in names:
            torture.counts = counts = Counts()
            begun = time.monotonic()
            getattr(torture, name)()
            done += counts.kills
            print(f"{name}: {counts.kills} kills after changes, {counts.early} before, {counts.ends} runs ended first, "
                  f"{counts.compared} files compared, {time.monotonic() - begun:.0f} s, nothing lost", flush=True)
        print(f"{done} kills in total", flush=True)

    return run_in_scratch(f"torture --seed {options.seed}", work, options.keep)


if __name__ == "__main__":
    sys.exit(main())
