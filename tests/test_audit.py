"""The audit of `make lint`: the real pip-audit, and a service of our own that answers as the real one does, or not."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import audit

LOCK = f"click==8.1.7 --hash=sha256:{'a' * 64}\nflask==3.0.0 --hash=sha256:{'b' * 64}\n"
FINDING = {
    "id": "GHSA-test-0001",
    "summary": "It can be made to fail.",
    "affected": [
        {
            "package": {"name": "flask", "ecosystem": "PyPI"},
            "ranges": [
                {
                    "type": "ECOSYSTEM",
                    "events": [{"introduced": "0"}, {"fixed": "3.0.9"}],
                }
            ],
        }
    ],
}


class Service(BaseHTTPRequestHandler):
    """Knows one vulnerability, of flask."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = {"vulns": [FINDING]} if asked["package"]["name"] == "flask" else {}
        body = json.dumps(known).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()


def checked(tmp_path: Path, url: str, text: str = LOCK) -> int:
    lock = tmp_path / "some.lock"
    lock.write_text(text)
    return audit.main([str(lock), "--osv-url", url])


def test_a_known_vulnerability_fails_and_is_named(
    tmp_path: Path,
    service: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert checked(tmp_path, service) == 1
    out = capsys.readouterr().out
    assert "audit: flask 3.0.0 has GHSA-test-0001; mended in: 3.0.9\n" in out
    assert checked(tmp_path, service, LOCK.splitlines()[0]) == 0
    assert capsys.readouterr().out == "audit: 1 dependencies, 0 known vulnerabilities\n"


def test_all_locks_are_looked_at_together_though_they_share_packages(
    tmp_path: Path,
    service: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    click, flask = LOCK.splitlines(keepends=True)
    locks = {"requirements.lock": click, "extras.lock": click, "more.lock": flask}
    for name, text in locks.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(audit, "LOCKS", [str(tmp_path / name) for name in locks])
    assert audit.main(["--osv-url", service]) == 1
    told = capsys.readouterr().out
    assert told.startswith("audit: flask 3.0.0 has GHSA-test-0001; ")
    assert "audit: 2 dependencies, 1 known" in told


def test_a_service_that_is_away_is_one_line_and_no_failure(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{unused.getsockname()[1]}/v1/query"
    assert checked(tmp_path, away) == 0
    told = capsys.readouterr()
    assert (
        told.out
        == "audit: not checked for known vulnerabilities: the service cannot be reached\n"
    )
    assert told.err == ""


def test_a_service_that_never_answers_is_not_waited_for(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit, "CONNECT_S", 1)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        assert (
            checked(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}/v1/query")
            == 0
        )
    assert capsys.readouterr().out.startswith("audit: not checked")


def test_a_lock_file_that_cannot_be_read_fails(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert checked(tmp_path, "http://127.0.0.1:9/", "click\n") == 1
    assert capsys.readouterr().err.startswith("audit: ")
