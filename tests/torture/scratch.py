# SPDX-License-Identifier: Apache-2.0
"""A temporary folder for one torture run, and its error handling."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from walker import Closed, Server


def run_in_scratch(name, work, keep=False):
    """Calls work(folder) and returns the exit code. With `keep`, the folder is not deleted."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="loci_torture_"))
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["LOCI_CACHE"] = str(folder / "cache")
    code = 0
    try:
        work(folder)
    except (AssertionError, Closed, OSError, subprocess.SubprocessError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        code = 1
    finally:
        Server.kill_all()
        if keep:
            print(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return code
