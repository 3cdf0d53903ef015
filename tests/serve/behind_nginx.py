#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `loci serve` behind nginx with the configuration of docs/serving.md: the page, the token, walks and videos
work, and no request reaches the server that nginx has not seen as one.

Usage: behind_nginx.py LOCI MAKE_TINY_FOLDER [--nginx PROGRAM]

Without nginx: exit code 77. On a failure: one line and exit code 1."""

import argparse
import http.client
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "torture"))

from scratch import run_in_scratch  # noqa: E402
from jobs import write_picture  # noqa: E402
from walker import Server, Walk, wait_for  # noqa: E402

TOKEN = "a-token-that-nobody-may-see"
HOST = "loci.example.org"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def documented_configuration():
    """The block of docs/serving.md."""
    text = (REPOSITORY / "docs" / "serving.md").read_text()
    return re.search(r"```nginx\n(.*?)```", text, re.S).group(1)


class Proxy:
    """nginx on two ports: as documented, and with bodies passed on while they arrive."""

    def __init__(self, program, folder, upstream):
        self.folder, self.log = folder, folder / "upstream.log"
        self.public_log = folder / "public.log"
        self.ports = {"documented": free_port(), "unbuffered": free_port()}
        block = documented_configuration()
        block = re.sub(r"(?m)^\s*(ssl_certificate.*|server 10\..*)\n", "", block)
        block = block.replace("consistent;", f"consistent;\n  server 127.0.0.1:{upstream};", 1)
        block = block.replace("/var/log/nginx/loci.log no_query;",
                              f"{self.public_log} no_query;\n  access_log {self.log} passed;")
        shared, server = block[:block.index("server {\n  listen")], block[block.index("server {\n  listen"):]
        end = server.index("\n}") + 3
        server, rest = server[:end], server[end:]
        servers = ""
        for name, port in self.ports.items():
            more = "" if name == "documented" else "\n  proxy_request_buffering off;"
            servers += server.replace("listen 443 ssl http2;", f"listen 127.0.0.1:{port};{more}")
        paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        configuration = folder / "nginx.conf"
        configuration.write_text(
            f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\n"
            f"events {{ worker_connections 512; }}\nhttp {{\n{paths}"
            "log_format passed '$upstream_status';\n" f"{shared}{servers}{rest}}}\n")
        self.process = subprocess.Popen([program, "-p", str(folder), "-c", str(configuration)],
                                        stderr=subprocess.PIPE)
        for port in self.ports.values():
            wait_for(lambda: self.listens(port), 20, f"nginx: {self.problem()}")

    def problem(self):
        if self.process.poll() is None:
            return "it does not listen"
        return self.process.stderr.read().decode()

    def listens(self, port):
        if self.process.poll() is not None:
            raise AssertionError(f"nginx ended: {self.problem()}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def passed(self):
        """Number of requests that were passed on and answered by the server."""
        lines = self.log.read_text().split("\n") if self.log.exists() else []
        return sum(line not in ("", "-") for line in lines)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)
        self.process.stderr.close()


class Test:
    def __init__(self, loci, make_folder, nginx, folder):
        self.folder = folder
        model = folder / "model"
        subprocess.run([make_folder, str(model)], check=True)
        write_picture(folder / "first.png", 48, 32)
        (folder / "token").write_text(TOKEN + "\n")
        self.server = Server(loci, model, folder / "data", "--token-file", str(folder / "token"),
                             "--requests-per-second", "1000", "--linger-seconds", "1")
        self.direct = int(re.search(r":(\d+)/", self.server.address).group(1))
        self.proxy = Proxy(nginx, folder, self.direct)

    def ask(self, port, path, method="GET", headers=None, body=None, known=True):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        fields = {"Host": HOST, **({"Authorization": f"bearer {TOKEN}"} if known else {}), **(headers or {})}
        connection.request(method, path, body=body, headers=fields,
                           encode_chunked=fields.get("Transfer-Encoding") == "chunked")
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def served(self):
        """Number of requests that the server has answered, without those for its metrics."""
        _, text = self.ask(self.direct, "/metrics")
        found = re.findall(rb'loci_http_requests_total\{route="(\w+)",status="\d+"\} (\d+)', text)
        return sum(int(count) for route, count in found if route != b"metrics")

    def raw(self, port, data):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(data)
            answer = b""
            while piece := connection.recv(1 << 16):
                answer += piece
        return answer

    # Cases.

    def access(self, port):
        answer, content = self.ask(port, "/", known=False)
        assert answer.status == 200 and b"<html" in content.lower(), answer.status
        assert self.ask(port, "/v1/models", known=False)[0].status == 401, "the server needs no token"
        assert self.ask(port, "/v1/models")[0].status == 200, "the server refuses the token"
        login, _ = self.ask(port, f"/?token={TOKEN}", known=False)
        assert (login.status, login.headers["Location"]) == (303, "/"), login.status
        cookie = login.headers["Set-Cookie"].split(";")[0]
        assert self.ask(port, "/v1/models", headers={"Cookie": cookie}, known=False)[0].status == 200, "cookie"
        # Status 400: the request passes the check of its origin, and its body is not valid.
        for host, origin, status in ((HOST, f"https://{HOST}", 400), (f"{HOST}:8443", f"https://{HOST}:8443", 400),
                                     (HOST, f"https://{HOST}:8443", 403), (HOST, "https://evil.org", 403)):
            answer, _ = self.ask(port, "/v1/videos", "POST",
                                 {"Host": host, "Origin": origin, "Content-Type": "application/json"}, b"{")
            assert answer.status == status, f"{host}, {origin}: {answer.status}"

    def walk(self, port):
        class Address:
            def port(self):
                return port

        walk = Walk(Address(), headers=f"Authorization: Bearer {TOKEN}\r\n", seed=1, max_chunks=3)
        walk.until("session")
        walk.until("chunk_stats", chunk_index=3)
        walk.close()

    def videos(self, port):
        picture = (self.folder / "first.png").read_bytes()
        form = b"".join(b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n' % field for field in (
            (b"num_frames", b"", b"8"), (b"padding", b"", b"x" * (4 << 20)),
            (b"input_reference", b'; filename="x.png"', picture))) + b"--b--\r\n"
        pieces = [form[i:i + 100_000] for i in range(0, len(form), 100_000)]
        for headers, body in (({"Content-Length": str(len(form))}, form),
                              ({"Transfer-Encoding": "chunked"}, iter(pieces)),
                              ({"Content-Length": str(len(form)), "Expect": "100-continue"}, form)):
            answer, content = self.ask(port, "/v1/videos", "POST",
                                       {"Content-Type": "multipart/form-data; boundary=b", **headers}, body)
            assert answer.status == 200, f"{headers}: {answer.status} {content}"
            video = json.loads(content)["id"]
            wait_for(lambda: json.loads(self.ask(port, f"/v1/videos/{video}")[1])["status"] == "completed",
                     what="a video")
            whole = self.ask(port, f"/v1/videos/{video}/content")[1]
            part, content = self.ask(port, f"/v1/videos/{video}/content", headers={"Range": "bytes=4-99"})
            assert part.status == 206 and content == whole[4:100], part.status

    def framing(self, port):
        """Requests that hide another one. Each is followed by a request on the same connection."""
        hidden = b"GET /v1/hidden HTTP/1.1\r\nHost: " + HOST.encode() + b"\r\n\r\n"
        field = b"Host: " + HOST.encode() + b"\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n"
        post = b"POST /v1/videos HTTP/1.1\r\n" + field
        chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(hidden), hidden)
        length = b"Content-Length: %d\r\n" % len(hidden)
        last = b"GET /health HTTP/1.1\r\n" + field + b"Connection: close\r\n\r\n"
        cases = {
            "a body of a given length": post + length + b"\r\n" + hidden,
            "a chunked body": post + b"Transfer-Encoding: chunked\r\n\r\n" + chunk,
            "trailer fields": post + b"Transfer-Encoding: chunked\r\n\r\n" + chunk[:-2] + b"Host: localhost\r\n\r\n",
            "an unknown coding": post + b"Transfer-Encoding: xchunked\r\n\r\n" + hidden,
            "two codings": post + b"Transfer-Encoding: chunked, identity\r\n\r\n" + chunk,
            "two fields with codings":
                post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunk,
            "a coding and a length": post + b"Transfer-Encoding: chunked\r\n" + length + b"\r\n" + chunk,
            "a space before the colon": post + b"Transfer-Encoding : chunked\r\n" + length + b"\r\n" + chunk,
            "a folded coding": post + b"Transfer-Encoding:\r\n chunked\r\n" + length + b"\r\n" + chunk,
            "two lengths": post + b"Content-Length: 0\r\n" + length + b"\r\n" + hidden,
            "a list of lengths": post + b"Content-Length: 0, %d\r\n\r\n" % len(hidden) + hidden,
            "a bare line feed": post + b"X: y\nTransfer-Encoding: chunked\r\n" + length + b"\r\n" + chunk,
            "a length in an HTTP/1.0 request":
                post.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n" + chunk,
            "two hosts": b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + field + b"\r\n",
            "two origins": post + b"Origin: https://" + HOST.encode() + b"\r\nOrigin: https://evil.org\r\n"
                           b"Content-Length: 0\r\n\r\n",
            "an absolute target": b"GET http://" + HOST.encode() + b"/v1/models HTTP/1.1\r\n" + field + b"\r\n",
        }
        for name, data in cases.items():
            served, passed = self.served(), self.proxy.passed()
            answer = self.raw(port, data + last)
            assert re.match(rb"HTTP/1.1 [245]\d\d ", answer), f"{name}: {answer[:200]}"
            if name in ("two hosts", "two origins"):
                assert answer.startswith(b"HTTP/1.1 400 "), f"{name}: {answer[:200]}"
            assert b" 500 " not in answer and b" 502 " not in answer, f"{name}: {answer[:200]}"
            # nginx writes its log after the answer.
            wait_for(lambda: self.served() - served == self.proxy.passed() - passed, 10,
                     f"{name}: the server answered {self.served() - served} requests, "
                     f"nginx passed {self.proxy.passed() - passed}")
            _, text = self.ask(self.direct, "/v1/hidden")
            assert b"no such route" in text

    def stop(self):
        self.proxy.stop()
        said = self.server.stop()
        for place, text in (("nginx's log", self.proxy.public_log.read_text()), ("the server's log", said)):
            assert TOKEN not in text, f"{place} contains the token"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loci")
    parser.add_argument("make_folder")
    parser.add_argument("--nginx", default="nginx")
    options = parser.parse_args()
    nginx = next((found for name in (options.nginx, "nginx", "/usr/sbin/nginx") if (found := shutil.which(name))), None)
    if nginx is None:
        print("skipped: there is no nginx; scripts/bootstrap --test unpacks it into build/nginx")
        return 77

    def work(folder):
        test = Test(options.loci, options.make_folder, nginx, folder)
        try:
            for way, port in test.proxy.ports.items():
                for name in ("access", "walk", "videos", "framing"):
                    begun = time.monotonic()
                    getattr(test, name)(port)
                    print(f"{name}, {way}: ok ({time.monotonic() - begun:.0f} s)", flush=True)
            test.stop()
        finally:
            if test.proxy.process.poll() is None:
                test.proxy.stop()

    return run_in_scratch("behind_nginx", work)


if __name__ == "__main__":
    sys.exit(main())
