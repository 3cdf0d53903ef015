# SPDX-License-Identifier: Apache-2.0
"""Starts `loci serve` on a free port with a tiny model and runs a client against it.

Usage: python run_against_server.py LOCI MAKE_TINY_FOLDER CLIENT.py [ARGUMENTS…]

The client gets the server's address as its first argument. Its exit code becomes the exit code of
this program.
"""

import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    loci, make_folder, *client = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="loci_serve_") as folder:
        model = pathlib.Path(folder) / "tiny"
        subprocess.run([make_folder, str(model)], check=True)
        command = [loci, "--quiet", "serve", "--model", str(model), "--port", "0"]
        command += ["--data", folder + "/data", "--linger-seconds", "1"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            address = server.stdout.readline().strip()
            code = subprocess.run([sys.executable, client[0], address, *client[1:]]).returncode
        finally:
            server.terminate()
            stopped = server.wait(timeout=60)
    if stopped not in (0, 130, 143):
        print(f"the server ended with {stopped}")
        code = code or 1
    sys.exit(code)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
