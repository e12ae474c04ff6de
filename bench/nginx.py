"""nginx as the reference: the same files on the same machine in the same run."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from referee.clock import Clock

CONFIGURATION = """
daemon off; worker_processes auto; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""
PATIENCE_S = 5.0


def is_installed() -> bool:
    """Whether nginx can be started."""
    return shutil.which("nginx", path=SEARCH) is not None


SEARCH = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"


@contextmanager
def serving(root: Path) -> Iterator[str]:
    """Serve the files under `root` for the length of a with statement; gives the URL."""
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="nginx-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "nginx.conf").write_text(CONFIGURATION.format(folder=folder, port=port, root=root))
        command = [shutil.which("nginx", path=SEARCH) or "nginx", "-c", str(folder / "nginx.conf")]
        with subprocess.Popen(command) as process:  # noqa: S603  the tool is asked for by name
            try:
                _await(port)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _await(port: int) -> None:
    clock = Clock()
    deadline_s = clock.monotonic_s() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            if clock.monotonic_s() > deadline_s:
                raise
        else:
            return
