#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests file_trace.cpp and crash_states.py with programs whose behaviour in a power loss is known.

Usage: crash_states_test.py FILE_TRACE_LIBRARY"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from crash_states import Disk, Loss, read_trace

LOSSES = [Loss(names, contents, seed) for names in ("lost", "kept", "random") for contents in ("lost", "kept", "random")
          for seed in range(20)]
# The start of every program: functions for calls of the system without buffers.
PREFIX = """
import ctypes, os
def sync(path):
    file = os.open(path, os.O_RDONLY); os.fsync(file); os.close(file)
def put(path, data, flush):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC); os.write(file, data)
    if flush: os.fsync(file)
    os.close(file)
"""


class CrashStates(unittest.TestCase):
    library = ""

    def states(self, program, before=()):
        """Runs a Python program in a folder, and returns all states after a power loss at its end."""
        with tempfile.TemporaryDirectory(prefix="loci_torture_") as name:
            root = pathlib.Path(name).resolve() / "root"
            root.mkdir()
            for file in before:
                (root / file).write_bytes(b"old")
            disk, log = Disk(root), root.parent / "trace"
            subprocess.run([sys.executable, "-I", "-c", PREFIX + program], cwd=root, check=True,
                           env={**os.environ, "LD_PRELOAD": self.library, "LOCI_TEST_TRACE_ROOT": str(root),
                                "LOCI_TEST_TRACE_LOG": str(log)})
            for record in read_trace(log):
                disk.apply(record)
            real = {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*") if f.is_file()}
            self.assertEqual(disk.live(), real)
            return [disk.after(loss) for loss in LOSSES]

    def test_a_file_that_was_not_flushed_may_be_empty_or_missing(self):
        states = self.states("put('.t', b'new', False); os.rename('.t', 'a')", before=["a"])
        contents = {state.get("a") for state in states}
        self.assertEqual(contents, {b"old", b"", b"new"})

    def test_a_flushed_file_replaces_the_old_one_atomically(self):
        program = "put('.t', b'new', True); os.rename('.t', 'a')"
        self.assertEqual({state["a"] for state in self.states(program, before=["a"])}, {b"old", b"new"})
        self.assertEqual({state["a"] for state in self.states(program + "; sync('.')", before=["a"])}, {b"new"})

    def test_a_new_folder_needs_a_flush_of_its_parent(self):
        program = "os.mkdir('d'); put('d/a', b'new', True); sync('d')"
        self.assertIn({}, self.states(program))
        self.assertEqual(self.states(program + "; sync('.')"), [{"d": None, "d/a": b"new"}] * len(LOSSES))

    def test_a_removal_may_be_undone(self):
        states = self.states("os.unlink('a')", before=["a"])
        self.assertTrue(any("a" in state for state in states) and any("a" not in state for state in states))
        self.assertTrue(all("a" not in state for state in self.states("os.unlink('a'); sync('.')", before=["a"])))

    def test_changes_of_a_folder_may_be_reordered(self):
        states = self.states("os.unlink('a'); put('b', b'new', True)", before=["a"])
        self.assertTrue(any("a" in state and "b" in state for state in states))

    def test_an_exchange_is_atomic(self):
        program = "ctypes.CDLL(None).renameat2(-100, b'a', -100, b'b', 2); put('b', b'x', True)"
        states = self.states("put('a', b'a', True); put('b', b'b', True); sync('.')\n" + program)
        self.assertEqual({(state["a"], state["b"]) for state in states}, {(b"b", b"x"), (b"x", b"b")})

    def test_links_appends_and_truncations_are_traced(self):
        states = self.states(
            "os.link('a', 'b'); f = os.open('a', os.O_WRONLY | os.O_APPEND); os.write(f, b'123')\n"
            "os.ftruncate(f, 5); g = os.open('b', os.O_WRONLY); os.pwrite(g, b'!', 0); os.fsync(f); sync('.')",
            before=["a"])
        self.assertEqual(states, [{"a": b"!ld12", "b": b"!ld12"}] * len(LOSSES))


if __name__ == "__main__":
    CrashStates.library = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
