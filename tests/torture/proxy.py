# SPDX-License-Identifier: Apache-2.0
"""nginx in front of a server, configured as docs/serving.md recommends, without TLS."""

import pathlib
import shutil
import socket
import subprocess
import time

CONFIG = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' close; }}
  server {{
    listen 127.0.0.1:{port};
    client_max_body_size 16m;
    location / {{
      proxy_pass http://127.0.0.1:{server};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_buffering off;
      proxy_read_timeout 1h;
    }}
  }}
}}
"""


class Nginx:
    """Forwards a port of this machine to a server until stop()."""

    def __init__(self, folder, server):
        unpacked = pathlib.Path(__file__).resolve().parents[2] / "build" / "nginx" / "usr" / "sbin"
        program = shutil.which("nginx") or shutil.which("nginx", path=f"/usr/sbin:{unpacked}")
        if program is None:
            raise AssertionError("nginx is not installed; run scripts/bootstrap --test")
        folder.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port_number = probe.getsockname()[1]
        config = folder / "nginx.conf"
        config.write_text(CONFIG.format(folder=folder, port=self.port_number, server=server.port()))
        self.process = subprocess.Popen([program, "-p", str(folder), "-c", str(config)], stderr=subprocess.PIPE)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port_number), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.process.kill()
        raise AssertionError(f"nginx did not start: {self.process.stderr.read().decode()}")

    def port(self):
        return self.port_number

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.process.stderr.close()
