#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs walks for a long time with random controls, saves, loads, forks and lost connections, and monitors the
server's memory and file descriptors, the latency of controls and the shares of the walks.

Usage: soak.py LOCI MAKE_TINY_FOLDER [--minutes 60] [--walkers 3] [--seed S] [--steady] [--nginx]

With --steady the walks only generate, as fast as the machine allows, to simulate days of video in a short time.
With --nginx the clients connect through an nginx. Prints a line per minute and percentiles at the end: the time from
sending a control to the first frame that shows it, and the time between two chunks of a walk. Exit code 1: an error
that no client caused, memory that grows by more than 5 % and 8 MiB from the second quarter of the time to the last, a
growing number of descriptors, or with --steady a walk with less than half of the mean share."""

import argparse
import random
import statistics
import subprocess
import sys
import threading
import time

from proxy import Nginx
from scratch import run_in_scratch
from walker import Closed, Server, Walk

KEYS = [["w"], ["w", "left"], ["left"], ["w", "right"], ["s"], ["i"], ["k", "d"], []]
# Error codes of requests for missing or currently unavailable objects.
REFUSALS = ("not_found", "limit", "bad_request", "busy", "in_use", "storage", "conflict")
SAVED_MOST = 6


class Walker(threading.Thread):
    def __init__(self, server, gate, number, options, deadline):
        """gate: where to connect, the server or a proxy."""
        super().__init__(daemon=True)
        self.server, self.gate, self.number, self.options, self.deadline = server, gate, number, options, deadline
        self.chance = random.Random(options.seed * 1000 + number)
        self.counts = {"chunks": 0, "connections": 0, "saves": 0, "loads": 0, "forks": 0, "refusals": 0}
        self.problem = None
        self.latencies, self.intervals = [], []  # seconds
        self.pending = {}  # controls without a frame: event_id -> time of sending
        self.events = 0

    def run(self):
        try:
            world = None
            while time.monotonic() < self.deadline:
                world = self.connection(world)
        except (AssertionError, Closed, OSError, KeyError) as error:
            self.problem = f"walker {self.number}: {type(error).__name__} {error}"

    def connection(self, world):
        """One connection of limited length. Returns the world that the next connection continues."""
        self.counts["connections"] += 1
        start = {"world": world} if world and self.chance.random() < 0.7 else {"seed": self.chance.randrange(1000)}
        walk = Walk(self.gate, output_compression=50, **start)
        self.pending.clear()
        chunk_at = None
        end = self.deadline
        if not self.options.steady:
            end = min(end, time.monotonic() + self.chance.uniform(2, 40))
        try:
            while time.monotonic() < end:
                message = walk.next()
                kind = message["type"]
                if kind == "session":
                    world = message["world"]
                elif kind == "error":
                    self.counts["refusals"] += 1
                    if message["code"] not in REFUSALS:
                        raise AssertionError(f"unexpected error of the server: {message}")
                    if message["fatal"]:
                        return None
                elif kind == "frame_batch":
                    # The newest event that the chunk applied; it applied the earlier ones, too.
                    for event in [e for e in self.pending if e <= (message["event_id"] or 0)]:
                        self.latencies.append(time.monotonic() - self.pending.pop(event))
                elif kind == "chunk_stats":
                    self.counts["chunks"] += 1
                    now = time.monotonic()
                    if chunk_at is not None and not message["replayed"]:
                        self.intervals.append(now - chunk_at)
                    chunk_at = now
                    if self.chance.random() < 0.5:
                        self.act(walk)
        except Closed as closed:
            # Another client has loaded this world.
            if "another connection" not in str(closed):
                raise
            world = None
        finally:
            walk.close()
        return world

    def act(self, walk):
        """A random action of a user."""
        chance = self.chance
        keys = {"mode": "state", "transitions": [{"actions": chance.choice(KEYS),
                                                  "look": [chance.uniform(-30, 30), chance.uniform(-9, 9)]}]}
        self.events += 1
        self.pending[self.events] = time.monotonic()
        walk.send(type="event", kind="camera_actions", event_id=self.events, payload=keys)
        dice = 1.0 if self.options.steady else chance.random()
        if dice < 0.08:
            self.counts["saves"] += 1
            walk.send(type="save", name=f"soak {self.number}", request_id=1)
        elif dice < 0.12:
            self.counts["forks"] += 1
            walk.send(type="fork", name="", switch=chance.random() < 0.5)
        elif dice < 0.2:
            worlds = [w for w in self.server.request("/v1/worlds")["data"]]
            if worlds:
                self.counts["loads"] += 1
                walk.send(type="load", world=chance.choice(worlds)["id"])
            # Limit the number of saved worlds, so that disk space stays bounded.
            for old in sorted(worlds, key=lambda w: w["created_at"])[:max(0, len(worlds) - SAVED_MOST)]:
                walk.send(type="delete_world", world=old["id"])
        elif dice < 0.26:
            walk.send(type="event", kind="history", payload=chance.choice(["sparse", "dense", "window", "landmarks"]))
        elif dice < 0.3:
            walk.send(type="event", kind=chance.choice(["reset_memory", "readout"]), payload="on")
        elif dice < 0.33:
            walk.send(type="event", kind="prompt", payload="")


def grown(series):
    """Medians of the second and of the last quarter."""
    quarter = max(1, len(series) // 4)
    return statistics.median(series[quarter:2 * quarter]), statistics.median(series[-quarter:])


def percentiles(seconds):
    """Median, 95th and 99th percentile and maximum as text, in milliseconds."""
    if not seconds:
        return "none measured"
    ordered = sorted(seconds)
    values = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99, 1)]
    return (f"median {values[0] * 1e3:.0f} ms, 95 % {values[1] * 1e3:.0f} ms, 99 % {values[2] * 1e3:.0f} ms, "
            f"longest {values[3] * 1e3:.0f} ms of {len(ordered)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loci")
    parser.add_argument("make_folder")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--walkers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steady", action="store_true")
    parser.add_argument("--nginx", action="store_true")
    options = parser.parse_args()

    def work(folder):
        subprocess.run([options.make_folder, str(folder / "model")], check=True)
        server = Server(options.loci, folder / "model", folder / "data", "--linger-seconds", "1",
                        "--requests-per-second", "1000000", "--messages-per-second", "1000000",
                        "--sessions", str(2 * options.walkers), "--connections", "1000")
        gate = Nginx(folder / "nginx", server) if options.nginx else server
        begun = time.monotonic()
        deadline = begun + 60 * options.minutes
        walkers = [Walker(server, gate, n, options, deadline) for n in range(options.walkers)]
        for walker in walkers:
            walker.start()
        memory, descriptors, said = [], [], 0
        while time.monotonic() < deadline and not any(w.problem for w in walkers):
            time.sleep(min(2, 0.6 * options.minutes))
            resident, files = server.memory()
            memory.append(resident)
            descriptors.append(files)
            if time.monotonic() - begun >= 60 * said:
                said += 1
                chunks = sum(w.counts["chunks"] for w in walkers)
                print(f"{(time.monotonic() - begun) / 60:.0f} min: {chunks} chunks, {resident / 2**20:.1f} MiB, "
                      f"{files} descriptors", flush=True)
        for walker in walkers:
            walker.join(timeout=120)
        counts = {name: sum(w.counts[name] for w in walkers) for name in walkers[0].counts}
        print(", ".join(f"{value} {name}" for name, value in counts.items()))
        before, after = grown(memory)
        few, many = grown(descriptors)
        print(f"memory {before / 2**20:.1f} MiB, then {after / 2**20:.1f} MiB; descriptors {few:.0f}, then {many:.0f}")
        chunks = [w.counts["chunks"] for w in walkers]
        fairness = sum(chunks) ** 2 / (len(chunks) * sum(c * c for c in chunks)) if any(chunks) else 0
        print(f"latency of controls: {percentiles([t for w in walkers for t in w.latencies])}")
        print(f"time between chunks: {percentiles([t for w in walkers for t in w.intervals])}")
        print(f"chunks per walk: {min(chunks)} to {max(chunks)}, Jain's index {fairness:.4f}")
        problems = [w.problem for w in walkers if w.problem]
        if options.nginx:
            gate.stop()
        said = server.stop()
        if problems or "internal" in said:
            raise AssertionError("; ".join(problems) or said)
        if after > 1.05 * before and after > before + (8 << 20):
            raise AssertionError("the memory of the server grows")
        if many > few + options.walkers:
            raise AssertionError("the number of descriptors grows")
        if options.steady and 2 * len(chunks) * min(chunks) < sum(chunks):
            raise AssertionError("a walk has less than half of the mean share")

    return run_in_scratch("soak", work)


if __name__ == "__main__":
    sys.exit(main())
