# SPDX-License-Identifier: Apache-2.0
"""A server process, and a client of walks over a WebSocket in JSON, with the Python standard library only."""

import base64
import json
import os
import secrets
import socket
import struct
import subprocess
import time
import urllib.error
import urllib.request


class Closed(Exception):
    """The connection was closed by the other side."""


class Server:
    """`loci serve` on a free port."""

    living = set()

    @staticmethod
    def kill_all():
        for server in list(Server.living):
            server.kill()

    def __init__(self, loci, model, data, *options, environment=None):
        command = [loci, "--quiet", "--threads", "1", "serve", "--model", str(model), "--data", str(data),
                   "--port", "0", "--network-threads", "1", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **(environment or {})})
        Server.living.add(self)
        self.address = self.process.stdout.readline().decode().strip()
        if not self.address.startswith("http"):
            raise AssertionError(f"the server did not start: {self.process.stderr.read().decode()}")

    def port(self):
        return int(self.address.rstrip("/").rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._close()

    def stop(self):
        """Terminates the server and returns its stderr."""
        self.process.terminate()
        said = self.process.stderr.read().decode()
        code = self.process.wait(timeout=120)
        self._close()
        assert code in (0, 130, 143), f"the server ended with {code}: {said}"
        return said

    def _close(self):
        Server.living.discard(self)
        self.process.stdout.close()
        self.process.stderr.close()

    def request(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address.rstrip("/") + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            content = answer.read()
            kind = answer.headers.get("Content-Type", "")
        return json.loads(content) if kind.startswith("application/json") else content

    def memory(self):
        """Resident bytes and number of open descriptors of the process."""
        folder = f"/proc/{self.process.pid}"
        with open(folder + "/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(folder + "/fd"))


class Walk:
    """One WebSocket connection."""

    def __init__(self, server, headers="", **init):
        """`headers`: more lines of the upgrade request, each with its CR LF. `init`: fields of the first message."""
        self.socket = socket.create_connection(("127.0.0.1", server.port()), timeout=120)
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        self.socket.sendall((
            "GET /v1/realtime_video/generate HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n{headers}\r\n"
        ).encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 101"), head
        if init:
            self.send(type="init", pacing="none", **init)

    def _more(self):
        try:
            data = self.socket.recv(1 << 16)
        except OSError as error:
            raise Closed(str(error)) from error
        if not data:
            raise Closed("end of stream")
        self.buffer += data

    def _take(self, count):
        while len(self.buffer) < count:
            self._more()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def _frame(self, kind, content):
        mask = secrets.token_bytes(4)
        if len(content) < 126:
            head = struct.pack(">BB", 0x80 | kind, 0x80 | len(content))
        elif len(content) < 1 << 16:
            head = struct.pack(">BBH", 0x80 | kind, 0x80 | 126, len(content))
        else:
            head = struct.pack(">BBQ", 0x80 | kind, 0x80 | 127, len(content))
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(content))
        try:
            self.socket.sendall(head + mask + masked)
        except OSError as error:
            raise Closed(str(error)) from error

    def send(self, **message):
        self._frame(1, json.dumps(message).encode())

    def next(self):
        """The next message."""
        text = b""
        while True:
            first, second = self._take(2)
            size = second & 127
            if size == 126:
                size = struct.unpack(">H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._take(8))[0]
            content = self._take(size)
            kind = first & 15
            if kind == 8:
                raise Closed(f"closed by the server: {content!r}")
            if kind == 9:
                self._frame(10, content)
            elif kind in (0, 1):
                text += content
                if first & 0x80:
                    return json.loads(text)

    def until(self, wanted, **fields):
        while True:
            message = self.next()
            if message["type"] == "error" and wanted != "error":
                raise AssertionError(f"error instead of {wanted}: {message}")
            if message["type"] == wanted and all(message.get(k) == v for k, v in fields.items()):
                return message

    def close(self):
        self.socket.close()


def wait_for(condition, seconds=120, what="something"):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds} s for {what}")
