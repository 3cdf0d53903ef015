#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `loci` with closed pipes, few file descriptors, little memory, and as an ordinary user on a read-only root
file system: a walk that lacks something ends with a clear message, and the others continue.

Usage: server_limits.py LOCI MAKE_TINY_FOLDER [CASE…]

The read-only root needs a mount namespace. If the system does not allow one, this case is skipped with a message.
On a failure: one line and exit code 1."""

import os
import pathlib
import resource
import socket
import subprocess
import sys
import time

from scratch import run_in_scratch
from jobs import write_picture
from walker import Closed, Server, Walk, wait_for

DESCRIPTORS = 40


class ServerLimits:
    def __init__(self, loci, make_folder, folder):
        self.loci, self.folder = loci, folder
        self.model = folder / "model"
        subprocess.run([make_folder, str(self.model)], check=True)
        write_picture(folder / "first.png", 48, 32)

    def wrapped(self, name, script):
        """A program that runs the shell text and then loci."""
        file = self.folder / name
        file.write_text(f'#!/bin/bash\n{script} || exit 99\nexec {self.loci} "$@"\n')
        file.chmod(0o755)
        return str(file)

    def advance(self, walk, chunks=2):
        for _ in range(chunks):
            walk.send(type="event", kind="step")
            walk.until("chunk_stats", replayed=False)

    def begin(self, server, **init):
        """A paused walk that has begun; its world."""
        walk = Walk(server, paused=True, **init)
        return walk, walk.until("session")["world"]

    # Cases.

    def closed_pipes(self):
        # The reader of results has gone, as in `loci … | head`: the program ends quietly.
        done = self.run_without_reader([self.loci, "manual"], "stdout")
        assert (done.returncode, done.stderr) == (141, b""), f"{done.returncode}, {done.stderr}"
        # The reader of the log has gone: the work goes on.
        out = self.folder / "a.mp4"
        done = self.run_without_reader([self.loci, "--threads", "1", "generate", "--model", self.model, "--image",
                                        self.folder / "first.png", "--trajectory", "w-16", "--out", out], "stderr")
        assert done.returncode == 0 and out.stat().st_size > 0, f"generate ended with {done.returncode}"
        done = self.run_without_reader([self.loci, "generate", "--model", "none"], "stderr")
        assert done.returncode == 2, f"an error without a reader gave {done.returncode}"

        server = Server(self.loci, self.model, self.folder / "pipe-data")
        walk, world = self.begin(server, seed=1)
        self.advance(walk)
        server.process.stdout.close()
        server.process.stderr.close()
        damaged = self.folder / "pipe-data" / "worlds" / ("world_" + 26 * "a")
        damaged.mkdir()
        (damaged / "world.json").write_text("{")
        for _ in range(3):  # every attempt logs an error
            other = Walk(server, world=damaged.name)
            try:
                other.until("error")
            except Closed:
                pass
            other.close()
        self.advance(walk)
        assert server.request("/health")["status"] == "ok"
        assert any(w["id"] == world for w in server.request("/v1/worlds")["data"])
        walk.close()
        server.process.terminate()
        code = server.process.wait(timeout=60)
        Server.living.discard(server)
        assert code in (0, 141), f"a server without a log ended with {code}"

    def run_without_reader(self, command, closed):
        reading, writing = os.pipe()
        os.close(reading)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, closed: writing}
        try:
            return subprocess.run([*map(str, command)], **streams)
        finally:
            os.close(writing)

    def few_descriptors(self):
        server = Server(self.wrapped("descriptors", f"ulimit -n {DESCRIPTORS}"), self.model,
                        self.folder / "descriptor-data", "--linger-seconds", "1")
        walks, refusals = [], []
        while not refusals and len(walks) < DESCRIPTORS:
            try:
                walks.append(self.begin(server, seed=len(walks))[0])
            except AssertionError as error:
                refusals.append(str(error))
            except Closed as error:
                raise AssertionError(f"walk {len(walks)} was refused without a message: {error}") from error
        assert len(walks) >= 2, f"only {len(walks)} walks with {DESCRIPTORS} descriptors: {refusals}"
        assert any(word in refusals[0] for word in ("503", "limit")), refusals
        for walk in walks:
            self.advance(walk)
        # Connections that do nothing take no descriptor that a walk needs.
        idle = [socket.create_connection(("127.0.0.1", server.port()), timeout=10) for _ in range(2 * DESCRIPTORS)]
        for walk in walks:
            self.advance(walk)
            walk.send(type="save", name="kept", request_id=1)
            walk.until("saved")
        assert server.memory()[1] < DESCRIPTORS, "no descriptor is left"
        for connection in idle:
            connection.close()
        for walk in walks:
            walk.close()
        # There is room again.
        def begins():
            try:
                walk = self.begin(server, seed=99)[0]
            except (AssertionError, Closed):
                return False
            self.advance(walk)
            walk.close()
            return True

        wait_for(begins, 30, "a walk after the others have left")
        server.stop()
        return f"{len(walks)} walks with {DESCRIPTORS} descriptors, nothing lost"

    def memory_inside_a_chunk(self):
        """The limit is lowered while two walks run: the larger one cannot compute its next chunk."""
        server = Server(self.loci, self.model, self.folder / "chunk-data", "--linger-seconds", "1")
        small, _ = self.begin(server, seed=1)
        large, world = self.begin(server, seed=2, size="768x512")
        for walk in (small, large, small):
            self.advance(walk, 1)
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        now = int(status.split("VmSize:")[1].split()[0]) << 10
        unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_AS)
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (now + (16 << 20), unlimited[1]))
        large.send(type="event", kind="step")
        error = large.until("error")
        assert (error["code"], error["fatal"]) == ("memory", True), error
        assert "out of memory" in error["message"], error
        self.expect_end(large)
        self.advance(small, 3)
        assert server.request("/health")["status"] == "ok"
        # With enough memory the world continues where it was.
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, unlimited)
        again, reopened = self.begin(server, world=world)
        assert reopened == world, f"{reopened} was opened instead of {world}"
        again.send(type="event", kind="step")
        index = again.until("chunk_stats", replayed=False)["chunk_index"]
        assert index == 2, f"the world continues with chunk {index}"
        again.close()
        small.close()
        said = server.stop()
        assert "out of memory" in said and "internal" not in said, said

    def little_memory(self):
        """Walks and videos whose frames do not fit into the memory limit of the process."""
        probe = Server(self.loci, self.model, self.folder / "memory-probe")
        self.begin(probe)[0].close()
        status = pathlib.Path(f"/proc/{probe.process.pid}/status").read_text()
        peak = int(status.split("VmPeak:")[1].split()[0])
        probe.stop()
        limited = self.wrapped("memory", f"ulimit -v {peak + (300 << 10)}")
        server = Server(limited, self.model, self.folder / "memory-data", "--pixels", "20000000")
        small, _ = self.begin(server, seed=1)
        self.advance(small)
        for _ in range(2):
            large = Walk(server, size="4096x4096", paused=True)
            error = large.until("error")
            assert (error["code"], error["fatal"]) == ("memory", True), error
            self.expect_end(large)
            self.advance(small)
        job = server.request("/v1/videos", {"size": "4096x4096", "seconds": 1})["id"]
        wait_for(lambda: server.request(f"/v1/videos/{job}")["status"] == "failed", what="a video that does not fit")
        assert server.request(f"/v1/videos/{job}")["error"]["code"] == "memory"
        self.advance(small)
        small.close()
        said = server.stop()
        assert "out of memory" in said, said

    def expect_end(self, walk):
        try:
            while True:
                walk.next()
        except Closed as closed:
            assert "out of memory" in str(closed), f"the close message is {closed}"

    def read_only_root(self):
        """An ordinary user, every file system read-only except for the data folder."""
        self.folder.chmod(0o755)
        writable = self.folder / "writable"
        writable.mkdir()
        root = os.geteuid() == 0
        user = "setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs" if root else ""
        inner = self.folder / "inner"
        inner.write_text(f"""#!/bin/bash
mount --make-rprivate / && mount -t tmpfs -o mode=0777 tmpfs {writable} && mount -o remount,bind,ro / || exit 99
touch {self.folder}/x 2>/dev/null && exit 99
[ -n "$1" ] || exit 0
exec {user} env -u XDG_DATA_HOME HOME=/nonexistent {self.loci} "$@"
""")
        inner.chmod(0o755)
        namespace = "unshare -m" if root else "unshare -rm"
        if subprocess.run([*namespace.split(), str(inner)], capture_output=True).returncode != 0:
            return "skipped: this system does not allow a read-only root"
        if root and subprocess.run([*user.split(), self.loci, "--version"], capture_output=True).returncode != 0:
            return "skipped: other users may not run this program"
        outer = self.folder / "outer"
        outer.write_text(f'#!/bin/bash\nexec {namespace} {inner} "$@"\n')
        outer.chmod(0o755)
        server = Server(str(outer), self.model, writable / "data")
        pid = server.process.pid
        owner = pathlib.Path(f"/proc/{pid}").stat().st_uid
        assert not root or owner == 65534, f"the server runs as user {owner}"
        walk, _ = self.begin(server, seed=1)
        walk.send(type="record", action="start")
        self.advance(walk, 3)
        walk.send(type="record", action="stop")
        walk.until("recording", state="saved")
        walk.send(type="save", name="kept", request_id=1)
        saved = walk.until("saved")["world"]["id"]
        job = server.request("/v1/videos", {"num_frames": 8})["id"]
        wait_for(lambda: server.request(f"/v1/videos/{job}")["status"] == "completed", what="a video")
        assert any(w["id"] == saved for w in server.request("/v1/worlds")["data"])
        walk.close()
        server.stop()


def main():
    loci, make_folder = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])

    def work(folder):
        limits = ServerLimits(loci, make_folder, folder)
        for name in sys.argv[3:] or ["closed_pipes", "few_descriptors", "memory_inside_a_chunk", "little_memory",
                                     "read_only_root"]:
            begun = time.monotonic()
            said = getattr(limits, name)() or "nothing lost"
            print(f"{name}: {said} ({time.monotonic() - begun:.0f} s)", flush=True)

    return run_in_scratch("server_limits", work)


if __name__ == "__main__":
    sys.exit(main())
