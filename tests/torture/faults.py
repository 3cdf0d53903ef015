#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests a full disk, a read-only folder, too little memory and a jumping clock: each error is one line with the
right exit code, and no data are lost.

Usage: faults.py LOCI MAKE_TINY_FOLDER CLOCK_JUMP_LIBRARY

Small disks need a mount namespace. If the system does not allow one, these cases are skipped with a message. On a
failure: one line and exit code 1."""

import os
import pathlib
import resource
import subprocess
import sys
import time

from jobs import expect_no_leftovers, write_picture
from scratch import run_in_scratch
from walker import Server, Walk

YEAR = 365 * 24 * 3600


class Faults:
    def __init__(self, loci, make_folder, clock_library, folder):
        self.loci, self.clock_library, self.folder = loci, clock_library, folder
        self.model = folder / "model"
        subprocess.run([make_folder, str(self.model)], check=True)
        write_picture(folder / "first.png", 48, 32)
        self.namespaces = subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0

    def command(self, *arguments):
        return [self.loci, "--quiet", "--threads", "1", *map(str, arguments)]

    def generate(self, out, *more):
        return self.command("generate", "--model", self.model, "--image", self.folder / "first.png",
                            "--trajectory", "w-16", "--out", out, *more)

    def expect(self, code, words, done):
        """Checks the exit code, and that stderr is one line with these words."""
        lines = done.stderr.strip().splitlines()
        if done.returncode != code or len(lines) != 1 or not all(word in lines[0] for word in words):
            raise AssertionError(f"{' '.join(done.args[-12:])}: expected exit code {code} and one line with "
                                 f"{words}, got {done.returncode} and {done.stderr!r}")

    def run(self, command, **options):
        return subprocess.run(command, capture_output=True, text=True, **options)

    def in_namespace(self, prepare, command):
        """Runs the shell text, then the command, in a mount namespace of their own."""
        script = f'{prepare} || exit 99; exec "$@"'
        return self.run(["unshare", "-rm", "bash", "-c", script, "bash", *command])

    # Cases.

    def full_disk(self):
        if not self.namespaces:
            return "skipped: this system does not allow mounting a small disk"
        disk, kept = self.folder / "disk", self.folder / "kept"
        disk.mkdir()
        kept.mkdir()
        done = self.run(self.generate(kept / "a.mp4", "--save-world", kept / "a.world"))
        assert done.returncode == 0, done.stderr
        before = {f.name: f.read_bytes() for f in kept.iterdir() if f.is_file()}
        # Room for the existing files and a few more bytes.
        size = sum(len(content) for content in before.values()) + 16384
        mount = (f"mount -t tmpfs -o size={size} tmpfs {disk} && cp {kept}/a.mp4 {kept}/a.world {disk}/")
        after = f"; code=$?; cp {disk}/a.mp4 {disk}/a.world {kept}/; ls -A {disk} > {kept}/left; exit $code"
        command = " ".join(f"'{a}'" for a in self.generate(disk / "a.mp4", "--seed", 8, "--save-world", disk / "a.world"))
        done = self.run(["unshare", "-rm", "bash", "-c", f"{mount} || exit 99; {command}{after}"])
        self.expect(3, ["disk is full"], done)
        for name in ("a.mp4", "a.world"):
            assert (kept / name).read_bytes() == before[name], f"{name} was lost to a full disk"
        assert ".loci-" not in (kept / "left").read_text(), "temporary files remain on the full disk"
        jobs = {"encode": ["world", "encode", "--vae", self.model / "vae", "--out", disk / "x"],
                "record": ["world", "record", disk / "x"]}
        for job in jobs.values():
            command = self.command(*job, "--count", 40, "--frames", 17, "--size", "48x32", "--workers", 1)
            self.expect(3, ["disk is full"],
                        self.in_namespace(f"mount -t tmpfs -o size=65536 tmpfs {disk}", command))

    def full_disk_of_a_server(self):
        if not self.namespaces:
            return "skipped: this system does not allow mounting a small disk"
        disk = self.folder / "server-disk"
        disk.mkdir()
        # The server runs in its own namespace. Its folder is read through /proc.
        wrapper = self.folder / "wrapper"
        wrapper.write_text(f"#!/bin/bash\nmount -t tmpfs -o size=66236k tmpfs {disk} || exit 99\n"
                           f'exec {self.loci} "$@"\n')
        wrapper.chmod(0o755)
        outer = self.folder / "outer"
        outer.write_text(f'#!/bin/bash\nexec unshare -rm {wrapper} "$@"\n')
        outer.chmod(0o755)
        server = Server(str(outer), self.model, disk / "data")
        walk = Walk(server, seed=1)
        world = walk.until("session")["world"]
        error, shown = None, 0
        while error is None:
            message = walk.next()
            if message["type"] == "chunk_stats":
                shown = message["chunk_index"]
            if message["type"] == "error":
                error = message
        assert error["code"] in ("storage", "limit"), error
        # The server still runs, and every chunk that was sent is stored.
        assert server.request("/health")["status"] == "ok"
        root = pathlib.Path(f"/proc/{server.process.pid}/root{disk}/data")
        chunks = list(next(root.rglob(world)).glob("chunks/[!.]*.safetensors"))
        assert len(chunks) >= shown + 1, f"chunk {shown} was sent, but only {len(chunks)} chunks are stored"
        server.stop()

    def read_only(self):
        if not self.namespaces:
            return "skipped: this system does not allow mounting a folder"
        place = self.folder / "read-only"
        place.mkdir()
        mount = f"mount --bind {place} {place} && mount -o remount,ro,bind {place}"
        cases = [self.generate(place / "a.mp4"),
                 self.generate(self.folder / "b.mp4", "--save-world", place / "b.world"),
                 self.command("world", "record", place / "x", "--count", 1, "--frames", 5, "--size", "48x32"),
                 self.command("serve", "--model", self.model, "--data", place / "data", "--port", "0")]
        for case in cases:
            self.expect(2, ["Read-only file system"], self.in_namespace(mount, case))
        assert list(place.iterdir()) == []

    def little_memory(self):
        """Frames that do not fit into the memory limit of the process."""
        def limited():
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

        out = self.folder / "large.mp4"
        out.write_bytes(b"the old one")
        command = self.generate(out, "--size", "8192x8192")
        self.expect(3, ["memory"], self.run(command, preexec_fn=limited))
        assert out.read_bytes() == b"the old one"
        expect_no_leftovers(self.folder)

    def clock(self):
        """The time of day jumps during a walk and during generation."""
        jump = self.folder / "clock"
        environment = {"LD_PRELOAD": self.clock_library, "LOCI_TEST_CLOCK": str(jump)}
        jump.write_text("0")
        server = Server(self.loci, self.model, self.folder / "clock-data", "--linger-seconds", "1",
                        environment=environment)
        walk = Walk(server, seed=1, max_chunks=3)
        world = walk.until("session")["world"]
        walk.until("chunk_stats", chunk_index=3)
        for seconds in (-YEAR, 3600, -3600, 0):
            jump.write_text(str(seconds))
            walk.send(type="event", kind="step")
            walk.until("chunk_stats")
            assert server.request("/health")["uptime_seconds"] >= 0, "the uptime is negative"
            walk.send(type="save", name=f"at {seconds}", request_id=1)
            walk.until("saved")
        walk.close()
        worlds = {w["id"] for w in server.request("/v1/worlds")["data"]}
        assert world in worlds and len(worlds) == 5, worlds
        server.stop()
        # Files with times in the future, after the clock has been corrected.
        server = Server(self.loci, self.model, self.folder / "clock-data")
        assert {w["id"] for w in server.request("/v1/worlds")["data"]} == worlds
        walk = Walk(server, world=world, paused=True)
        walk.until("session")
        walk.close()
        server.stop()

        def hashes(seconds):
            jump.write_text(str(seconds))
            out = self.folder / f"clock-{seconds}.mp4"
            done = self.run(self.generate(out), env={**os.environ, **environment})
            assert done.returncode == 0, done.stderr
            return out.read_bytes()

        assert hashes(0) == hashes(-40 * YEAR) == hashes(20 * YEAR), "the output depends on the clock"


def main():
    loci, make_folder, library = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:4])

    def work(folder):
        faults = Faults(loci, make_folder, library, folder)
        for name in sys.argv[4:] or ["full_disk", "full_disk_of_a_server", "read_only", "little_memory", "clock"]:
            begun = time.monotonic()
            said = getattr(faults, name)() or "nothing lost"
            print(f"{name}: {said} ({time.monotonic() - begun:.0f} s)", flush=True)

    return run_in_scratch("faults", work)


if __name__ == "__main__":
    sys.exit(main())
