"""Mistakes at the command line of the client of one file: one sentence each, and no run is used up."""

from __future__ import annotations

import runpy
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.client.referee_double import PASSWORD, Referee
from tests.timeouts import TIMEOUT_S

FORM = "the form is: python3 client.py URL TEAM PASSWORD_FILE [FIRST_IMAGE [LINKS]]"
CLIENT = Path(__file__).parents[2] / "client" / "examples" / "python" / "client.py"


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", str(CLIENT), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(f"{PASSWORD}\n")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff\xd8\xff")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("none",),
            "PASSWORD_FILE cannot be read: No such file or directory; name the file "
            f"whose first line is the team's password; {FORM}",
        ),
        (
            ("binary",),
            "PASSWORD_FILE cannot be read: it is not text in UTF-8; name the file "
            f"whose first line is the team's password; {FORM}",
        ),
        (
            ("secret", "1", "."),
            "LINKS . cannot be written: Is a directory; name another file",
        ),
        (
            ("secret", "1", "a", "b"),
            f"arguments given: 6; {FORM}",
        ),
        (("secret", "-h"), f"-h: there are no options; {FORM}"),
        (("empty",), "PASSWORD_FILE empty: its first line is empty"),
        (("secret", "one"), "FIRST_IMAGE is 'one', not a whole number from 1"),
        (("secret", "0"), "FIRST_IMAGE is '0', not a whole number from 1"),
        (("secret", "-1"), "FIRST_IMAGE is '-1', not a whole number from 1"),
        (
            ("secret", "1" * 5000),
            f"FIRST_IMAGE is '{'1' * 98}, not a whole number from 1",
        ),
    ],
)
def test_a_wrong_argument_is_one_sentence_before_the_log_in(
    referee: Referee, folder: Path, arguments: tuple[str, ...], told: str
) -> None:
    done = ran(folder, referee.url, "alpha", *arguments)
    assert done.returncode == 1
    assert done.stderr == f"client: {told}\n"
    assert referee.requests == {}


@pytest.mark.parametrize(
    "url",
    [
        "board:8080",
        "http:\\\\board:8080",
        "http://board:8O8O",
        "http://board:99999",
        "http://board:0",
        "http://bo ard:8080",
        "http://alpha:secret@board:8080",
        "http://board:8080/v1",
        "http://a..b:1",
        f"http://{'a' * 64}:1",
        f"http://board:{'1' * 5000}",
    ],
    ids=lambda url: url[:20],
)
def test_a_wrong_url_is_one_sentence(folder: Path, url: str) -> None:
    done = ran(folder, url, "alpha", "secret")
    assert done.returncode == 1
    shown = url.replace("http://alpha:secret@", "...@")
    told = f"client: {shown!r:.99} is not a referee's URL; write http://host:port\n"
    assert done.stderr == told


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [
        ("HTTP://Board:8080", "Board", 8080, ""),
        ("http://board/2026/", "board", 80, "/2026"),
        ("https://[::1]", "::1", 443, ""),
    ],
)
def test_a_sound_url_has_a_host_a_port_and_perhaps_a_path(
    url: str, host: str, port: int, path: str
) -> None:
    address_in = runpy.run_path(str(CLIENT))["address_in"]
    assert address_in(url)[1:] == (host, port, path)


def test_a_blank_at_the_url_and_a_byte_order_mark_do_not_count(
    referee: Referee, folder: Path
) -> None:
    (folder / "secret").write_text(f"\ufeff{PASSWORD}\n", encoding="utf-8")
    done = ran(folder, f"{referee.url}/ ", "alpha", "secret", "6")
    assert "client: run r1: 5 images" in done.stderr


def test_a_team_and_a_password_file_in_the_wrong_order_are_told(
    referee: Referee, folder: Path
) -> None:
    done = ran(folder, referee.url, "secret", "alpha")
    assert done.returncode == 1
    assert done.stderr == (
        "client: PASSWORD_FILE cannot be read: No such file or directory; "
        f"TEAM is a file: it and PASSWORD_FILE seem to be swapped; {FORM}\n"
    )
    assert referee.requests == {}


def test_a_team_with_a_name_too_long_for_a_file_is_no_traceback(folder: Path) -> None:
    done = ran(
        folder, "http://board:8080", "\N{LATIN SMALL LETTER E WITH ACUTE}" * 200, "none"
    )
    assert done.stderr == (
        "client: PASSWORD_FILE cannot be read: No such file or directory; name the file "
        f"whose first line is the team's password; {FORM}\n"
    )


def test_options_are_told_the_form(referee: Referee, folder: Path) -> None:
    done = ran(folder, referee.url, "--team", "alpha", "--password-file", "secret")
    assert done.returncode == 1
    assert "client.py URL TEAM PASSWORD_FILE" in done.stderr
    assert referee.requests == {}


def test_a_password_in_place_of_its_file_is_not_shown(
    referee: Referee, folder: Path
) -> None:
    done = ran(folder, referee.url, "alpha", PASSWORD)
    assert done.returncode == 1
    assert PASSWORD not in done.stderr


def test_a_first_image_beyond_the_last_leaves_the_run_open(
    referee: Referee, folder: Path
) -> None:
    done = ran(folder, referee.url, "alpha", "secret", "6")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "client: FIRST_IMAGE is 6, and the run has 5 images; the run stays open\n"
    )
    assert referee.phase == "open"


def test_tls_with_a_referee_without_it_is_told_at_once(
    referee: Referee, folder: Path
) -> None:
    url = referee.url.replace("http://", "https://")
    done = ran(folder, url, "alpha", "secret")
    assert done.returncode == 1
    assert done.stderr.endswith("; write http:// if it speaks plain HTTP\n")
    assert done.stderr.count("\n") == 1


def test_a_referee_that_is_not_there_is_told_with_a_way_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = told_by(folder, monkeypatch, capsys, "http://127.0.0.1:1")
    first, last = told.splitlines()
    assert first == (
        "client: http://127.0.0.1:1 does not answer: Connection refused; "
        "trying again for 0 s"
    )
    assert last.endswith("; check address and port, and whether the referee is running")
    assert "Errno" not in told


def told_by(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    url: str,
) -> str:
    """Return what the client says that tries for half a second to log in."""
    client = runpy.run_path(str(CLIENT))
    main = client["main"]
    monkeypatch.setitem(main.__globals__, "LOGIN_S", 0.25)
    monkeypatch.setattr(
        sys, "argv", ["client.py", url, "alpha", str(folder / "secret")]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    return f"{capsys.readouterr().err}{ended.value.code}"


def test_another_server_is_told_to_be_one(folder: Path) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        done = ran(folder, url, "alpha", "secret")
        server.shutdown()
        thread.join()
    assert done.returncode == 1
    assert done.stderr == (
        f"client: {url} does not answer as a referee does; check address and port\n"
    )


def test_a_refused_log_in_says_team_and_file_and_no_code(
    referee: Referee, folder: Path
) -> None:
    (folder / "wrong").write_text("not it\n")
    done = ran(folder, referee.url, "alpha", "wrong")
    assert done.returncode == 1
    end = " The team was 'alpha', the password the first line of wrong.\n"
    assert done.stderr.endswith(end)
    assert not done.stderr.startswith("client: bad-credentials: ")
