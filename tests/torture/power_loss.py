#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates power losses during `loci` commands: changes of files that were not flushed with fsync are dropped.

Usage: power_loss.py LOCI MAKE_TINY_FOLDER FILE_TRACE_LIBRARY [--recoveries N] [--seed S] [--only NAME,…] [--keep]

Each job runs once with file_trace.cpp, which records all changes of files. crash_states.py then computes the disk
after a power loss at every moment of the job, in several ways per moment. Checked for every state:

- A file under its final name is complete: one of the versions that the job put there.
- A folder that appears or disappears atomically (checkpoint, world, clip) has all its files or does not exist.
- What was finished survives: a file is safe when the job begins to write the next one; a chunk, a saved world and
  a video job are safe when the client has been told.

For N states of each job (--recoveries, 4 by default), the program continues on the files that survived, and the
result must equal that of an undisturbed run. On a failure: one line and exit code 1."""

import argparse
import fnmatch
import pathlib
import random
import sys
import time

from crash_states import Disk, File, Loss, mark, read_trace, walk, write_state
from jobs import Jobs, chunk_files, expect_same, files_of, hidden, losses, same_files
from scratch import run_in_scratch
from walker import Server, Walk, wait_for

RANDOM_LOSSES = 4  # per moment
CHUNKS = 6
# Logs, which are appended to, and locks, which name their holder.
IN_PLACE = ("*metrics.jsonl", "*events.out.*", "*/lock")


def is_in_place(path):
    return any(fnmatch.fnmatch(path, pattern) for pattern in IN_PLACE)


def whole(file):
    """The live content of a file. The object is that of the safe content, if possible, to compare faster."""
    return file.safe if file.safe == file.live else bytes(file.live)


class Rules:
    """What has to survive a power loss, updated record by record."""

    def __init__(self, disk, sequential):
        """sequential: the job writes one file after the other, so that the start of the next one shows that
        the one before was finished."""
        self.disk, self.sequential = disk, sequential
        self.versions = {}  # path of a visible file -> the complete contents that it had, in order
        self.folders = {}  # path of an atomic folder -> the lists of names that it had
        self.finished = {}  # path -> place of its newest finished version
        self.promised = set()  # paths that a client relies on
        self.gone = set()  # paths that a client has deleted
        for path, content in disk.live().items():
            self.versions[path] = [content]
        self.finish()

    def finish(self):
        self.finished = {path: len(versions) - 1 for path, versions in self.versions.items()
                         if self.disk.find(path) is not None and not is_in_place(path)}

    def before(self, record):
        kind, fields, _ = record
        if kind in ("create", "mkdir") and self.sequential:
            self.finish()
        if kind in ("remove", "rename"):  # the job gives up these files
            for path in [p for p in self.finished if p == fields[0] or p.startswith(fields[0] + "/")]:
                del self.finished[path]
        if kind == "remove" and not hidden(fields[0]):
            for folder, versions in self.folders.items():
                if fields[0].startswith(folder + "/"):
                    name = fields[0][len(folder) + 1:]
                    self.folders[folder] = [version - {name} for version in versions]

    def after(self, record):
        kind, fields, _ = record
        if kind in ("rename", "exchange", "link"):
            self.appeared(fields[1])
        if kind == "exchange":
            self.appeared(fields[0])

    def appeared(self, path):
        node = self.disk.find(path)
        if hidden(path):
            return
        if isinstance(node, File):
            self.versions.setdefault(path, []).append(whole(node))
            return
        names = set()
        for name, child in walk(node, lambda folder: folder.live):
            names.add(name)
            if isinstance(child, File):
                self.versions.setdefault(f"{path}/{name}", []).append(whole(child))
        self.folders.setdefault(path, []).append(frozenset(names))

    def check(self, state):
        for path, content in state.items():
            if content is None or hidden(path) or is_in_place(path):
                continue
            if path not in self.versions:
                raise AssertionError(f"{path} is written in place, so that it can be read half written")
            if content not in self.versions[path]:
                raise AssertionError(f"{path} is damaged: {len(content)} bytes, expected one of "
                                     f"{sorted(len(version) for version in self.versions[path])}")
        for folder, versions in self.folders.items():
            if folder in state and not any(all(f"{folder}/{name}" in state for name in version)
                                           for version in versions):
                raise AssertionError(f"{folder} is incomplete: it has {[p for p in state if p.startswith(folder + '/')]}")
        for path, newest in self.finished.items():
            if state.get(path) not in self.versions[path][newest:]:
                raise AssertionError(f"{path} was finished and is {'an older version' if path in state else 'lost'}")
        for path in self.promised:
            if path not in state:
                raise AssertionError(f"{path} was promised to a client and is lost")
        for path in self.gone:
            if path in state:
                raise AssertionError(f"{path} was deleted by a client and is there again")


class PowerLoss:
    def __init__(self, options, folder):
        self.jobs = Jobs(options.loci, options.make_folder, folder)
        self.library = str(pathlib.Path(options.library).resolve())
        self.recoveries = options.recoveries
        self.chance = random.Random(options.seed)
        self.seed = options.seed
        self.folder = folder
        self.moments = self.states = 0
        self.problems = {}
        self.collect = options.collect

    def environment(self, root, log):
        return {"LD_PRELOAD": self.library, "LOCI_TEST_TRACE_ROOT": str(root), "LOCI_TEST_TRACE_LOG": str(log)}

    def losses(self, moment):
        yield Loss("lost", "lost")
        yield Loss("kept", "lost")
        yield Loss("lost", "kept")
        yield Loss("kept", "kept")
        for number in range(RANDOM_LOSSES):
            yield Loss("random", "random", hash((self.seed, moment, number)))

    def examine(self, name, root, disk, log, recover, sequential=True, on_mark=None):
        """Checks all states of a trace. `disk` is the content of `root` before the job. recover(folder) continues
        the job on a sample of the states."""
        records = list(read_trace(log))
        rules = Rules(disk, sequential)
        # A reservoir of states to recover from; equal ones are taken once.
        sample, known = [], set()
        for moment, record in enumerate(records):
            rules.before(record)
            disk.apply(record)
            rules.after(record)
            if record[0] == "mark":
                on_mark(rules, *record[1])
            following = records[moment + 1] if moment + 1 < len(records) else ("end", [""])
            if record[0] == following[0] == "write" and record[1][0] == following[1][0]:
                continue  # one moment for consecutive writes to a file; the states contain parts of them
            self.moments += 1
            for loss in self.losses(moment):
                state = disk.after(loss)
                self.states += 1
                try:
                    rules.check(state)
                except AssertionError as problem:
                    where = f"power loss after record {moment} of {len(records)} ({record[0]} {' '.join(record[1][:2])}; {loss.label})"
                    if not self.collect:
                        raise AssertionError(f"{name}, {where}: {problem}") from None
                    self.problems.setdefault(str(problem)[:100], f"{name}, {where}")
                    continue
                key = hash(frozenset(state.items()))
                if key in known:
                    continue
                known.add(key)
                place = len(known) - 1 if len(sample) < self.recoveries else self.chance.randrange(len(known))
                if place < len(sample):
                    sample[place] = (moment, loss.label, state)
                elif len(sample) < self.recoveries:
                    sample.append((moment, loss.label, state))
        real = {path: (root / path).read_bytes() for path in files_of(root)}
        if disk.live() != real:
            wrong = [path for path in {**real, **disk.live()} if real.get(path) != disk.live().get(path)]
            raise AssertionError(f"{name}: the trace misses changes of {wrong}")
        for number, (moment, label, state) in enumerate(sample):
            place = self.folder / f"{name}-after-{number}"
            write_state(state, place)
            try:
                recover(place)
            except AssertionError as problem:
                where = f"{name}, continued after a power loss after record {moment} of {len(records)} ({label})"
                if not self.collect:
                    raise AssertionError(f"{where}: {problem}") from None
                self.problems.setdefault(str(problem)[:100], where)

    def traced(self, name, prepare=None):
        """The folder of a job, its content before the job, and the file of the trace."""
        root, log = self.folder / name, self.folder / f"{name}.trace"
        root.mkdir()
        if prepare is not None:
            prepare(root)
        return root, Disk(root), log

    # Jobs.

    def generate(self):
        """A video and a world over older ones."""
        jobs = self.jobs
        root, disk, log = self.traced("generate", lambda folder: jobs.run(*jobs.generate(folder, 1)))
        jobs.run(*jobs.generate(root, 2), environment=self.environment(root, log))

        def recover(place):
            jobs.run(*jobs.generate(place, 2), *(["--resume"] if jobs.unfinished(place) else []))
            names = ("a.mp4", "a.world")
            if not same_files(root, place, names):
                jobs.run(*jobs.generate(place, 2))
            expect_same(root, place, names)
            expect_same(root / "a.latents", place / "a.latents")

        self.examine("generate", root, disk, log, recover)

    def encode(self):
        self.dataset("encode")

    def record(self):
        self.dataset("record")
        self.dataset("tar")

    def dataset(self, kind):
        root, disk, log = self.traced(kind)
        self.jobs.run(*self.jobs.dataset(kind, root / "out"), environment=self.environment(root, log))

        def recover(place):
            self.jobs.run(*self.jobs.dataset(kind, place / "out"))
            expect_same(root / "out", place / "out")

        self.examine(kind, root, disk, log, recover)

    def train(self):
        config = self.jobs.train_config()
        root, disk, log = self.traced("train")
        self.jobs.run("train", config, "--out", root / "run", environment=self.environment(root, log))

        def recover(place):
            self.jobs.run("train", config, "--out", place / "run", "--resume")
            last = self.jobs.last_checkpoint(place / "run")
            expect_same(self.jobs.last_checkpoint(root / "run"), last)
            if losses(place / "run") != losses(root / "run"):
                raise AssertionError("the losses of the resumed run differ")

        self.examine("train", root, disk, log, recover)

    def serve(self):
        """A walk with a save, a second view, renamed and deleted worlds, and a video job."""
        root, disk, log = self.traced("serve")
        server = Server(self.jobs.loci, self.jobs.model, root / "data",
                        environment=self.environment(root, log))
        walk = Walk(server, seed=9, paused=True)
        world = walk.until("session")["world"]
        for chunk in range(1, CHUNKS + 1):
            walk.send(type="event", kind="step")
            walk.until("chunk_stats", chunk_index=chunk)
            mark(log, f"chunk\t{world}\t{chunk}")
        walk.send(type="save", name="kept", request_id=1)
        saved = walk.until("saved")["world"]["id"]
        mark(log, f"saved\t{saved}")
        walk.send(type="save", name="unwanted", request_id=2)
        unwanted = walk.until("saved")["world"]["id"]
        mark(log, f"saved\t{unwanted}")
        walk.send(type="split", second={"history": "dense"})
        walk.send(type="event", kind="step")
        walk.until("chunk_stats", chunk_index=CHUNKS + 1)
        mark(log, f"chunk\t{world}\t{CHUNKS + 1}")
        mark(log, f"deleting\t{unwanted}")
        server.request(f"/v1/worlds/{unwanted}", method="DELETE")
        mark(log, f"deleted\t{unwanted}")
        job = server.request("/v1/videos", {"seconds": 1, "seed": 5, "prompt": ""})["id"]
        mark(log, f"video\t{job}")
        wait_for(lambda: server.request(f"/v1/videos/{job}")["status"] == "completed", what="a video")
        mark(log, f"film\t{job}")
        film = server.request(f"/v1/videos/{job}/content")
        walk.close()
        server.stop()
        expected = chunk_files(root, world)

        def on_mark(rules, kind, name, *more):
            if kind == "chunk":
                rules.promised.add(f"data/worlds/{name}/chunks/{int(more[0]):07}.safetensors")
                rules.promised.add(f"data/worlds/{name}/world.json")
            elif kind == "saved":
                rules.promised.add(f"data/worlds/{name}/world.json")
            elif kind == "deleting":
                rules.promised.discard(f"data/worlds/{name}/world.json")
            elif kind == "deleted":
                rules.gone.add(f"data/worlds/{name}")
            elif kind == "video":
                rules.promised.add(f"data/videos/{name}/video.json")
            elif kind == "film":
                rules.promised.add(f"data/videos/{name}/content.mp4")

        def recover(place):
            after = Server(self.jobs.loci, self.jobs.model, place / "data")
            stored = place / "data" / "worlds" / world
            if (stored / "chunks" / "0000000.safetensors").exists():
                found = len(chunk_files(place, world)) - 1
                # A second view joins at chunk CHUNKS. Without its part, the walk continues with one view.
                again = Walk(after, world=world, paused=True)
                again.until("session")
                for chunk in range(found + 1, CHUNKS + 1):
                    again.send(type="event", kind="step")
                    again.until("chunk_stats", chunk_index=chunk)
                again.close()
            for other in (stored.parent / name for name in (saved, unwanted)):
                if other.exists():
                    again = Walk(after, world=other.name, paused=True)
                    again.until("session")
                    again.close()
            if (place / "data" / "videos" / job).exists():
                wait_for(lambda: after.request(f"/v1/videos/{job}")["status"] == "completed", what="a video")
                if after.request(f"/v1/videos/{job}/content") != film:
                    raise AssertionError("the video that was continued differs")
            after.stop()
            if stored.exists():
                for name, content in chunk_files(place, world).items():
                    if content != expected[name]:
                        raise AssertionError(f"{name} of the continued walk differs")

        self.examine("serve", root, disk, log, recover, sequential=False, on_mark=on_mark)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loci")
    parser.add_argument("make_folder")
    parser.add_argument("library")
    parser.add_argument("--recoveries", type=int, default=4, help="states per job to continue from (default: 4)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="generate,encode,record,train,serve")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")
    parser.add_argument("--collect", action="store_true", help="list all kinds of problems instead of the first")
    options = parser.parse_args()

    def work(folder):
        power = PowerLoss(options, folder)
        for name in options.only.split(","):
            before, states, begun = power.moments, power.states, time.monotonic()
            getattr(power, name)()
            print(f"{name}: {power.moments - before} moments, {power.states - states} states checked, "
                  f"{time.monotonic() - begun:.0f} s", flush=True)
        for problem, where in power.problems.items():
            print(f"{where}: {problem}")
        if power.problems:
            raise AssertionError(f"{len(power.problems)} kinds of problems")

    return run_in_scratch(f"power_loss --seed {options.seed}", work, options.keep)


if __name__ == "__main__":
    sys.exit(main())
