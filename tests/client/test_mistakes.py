"""Mistakes of teams at the command line: each is one sentence with the value, what to do, and the near name."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lpirc_client.errors import EXTRAS
from tests.client.conftest import Client
from tests.client.referee_double import Referee

HEADER = "image,class,confidence,xmin,ymin,xmax,ymax\n"
ROW = "1,7,0.5,1,2,3,4\n"
TEAM = ("--team", "alpha")


@pytest.fixture
def nothing_there() -> Iterator[str]:
    """Serve 404 at every address, as a referee does beside its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), NothingThere)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class NothingThere(BaseHTTPRequestHandler):
    """Answers each GET with 404."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "error: give a command: run, replay, check, work, status, links; --help"),
        (("rnu", "URL"), "'links'). Did you mean run?"),
        (("stauts", "URL"), "'links'). Did you mean status?"),
        (("--team", "a", "run", "URL"), "come after it: lpirc-client run --team ..."),
        (("run", "URL", *TEAM, "--ca", "x"), "Did you mean --ca-cert instead of --ca?"),
        (("run", "URL", *TEAM, "--stop", "bst"), "Did you mean best?"),
        (("run", "URL", *TEAM, "--progress", "jsn"), "Did you mean json?"),
        (
            ("replay", "URL", "http://a/b.csv"),
            "http://a/b.csv is an address; name a fi",
        ),
        (("run", "--url", "URL", *TEAM), ". Did you mean URL without --url?"),
        (("run", "URL", *TEAM, "--preflight", "."), "--preflight: . is a folder; name"),
        (("status", "URL", "-team", "a"), "Did you mean --team instead of -team?"),
        (("status", "URL", "--team", " "), "argument --team: the name is empty"),
        (("links", "URL", "--every", "0"), "'0' is not a number of seconds above 0"),
        (("links", "URL", "--every", "5", "--kept", "a"), "not allowed with argument"),
        (
            ("run", "URL", "--team", "a", "--no-preflight", "--preflight", "b"),
            "not allowed with argument",
        ),
        (("work", "URL", "--name", "a", "--key", "x"), "Did you mean --key-file"),
    ],
)
def test_a_misspelt_command_line_is_told_what_is_meant(
    client: Client, arguments: tuple[str, ...], told: str
) -> None:
    done = client(*arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("127.0.0.1:8080", "such as http://127.0.0.1:8080\n"),
        ("localhost", "such as http://localhost\n"),
        ("htp://board:8080", "such as http://board:8080\n"),
        ("http:/127.0.0.1:9330", "such as http://127.0.0.1:9330\n"),
        ("HTTPS:/board:8443", "such as https://board:8443\n"),
        ("http://127.0.0.1:93300", "; the port 93300 is more than 65535\n"),
        ("board:93300/", "; the port 93300 is more than 65535\n"),
        ("found.csv", "write http://host:port\n"),
        ("alpha", "write http://host:port\n"),
    ],
)
def test_an_incomplete_url_is_told_the_whole_one(
    client: Client, url: str, told: str
) -> None:
    done = client("run", url, *TEAM)
    assert done.returncode == 1
    assert done.stderr.startswith(f"lpirc-client: {url!r} is not a referee's URL")
    assert done.stderr.endswith(told)


@pytest.mark.parametrize("path", ["/v1", "/team/", "/v1/session"])
def test_a_url_with_a_path_too_many_is_told_without_it(
    client: Client, nothing_there: str, path: str
) -> None:
    done = client("run", nothing_there + path, *TEAM)
    assert done.returncode == 1
    assert f"Perhaps {nothing_there} is, without {path.rstrip('/')}\n" in done.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mine", "did you mean mine:detect?"),
        ("mine.detect", "did you mean mine:detect?"),
        ("mine.py", "did you mean mine:detect, run in the folder of mine.py?"),
        ("mine.py:detect", "a module is named without .py: mine:detect"),
        ("mien:detect", "did you mean mine:detect?"),
        ("mine:detct", "mine has no function 'detct'; did you mean mine:detect?"),
        ("mine:size", "'size' of mine is of type int, not a function"),
        ("mine:one", "does not take them: def one(jpeg, categories)"),
        ("model.onnx", "did you mean onnx:model.onnx?"),
        ("model.tflite", "did you mean litert:model.tflite?"),
        ("tflite:model.tflite", "did you mean litert:model.tflite?"),
        ("sampel", "did you mean sample?"),
        ("python mine.py", "did you mean mine:detect, run in the folder of mine.py?"),
        ("onxx:model.onnx", "did you mean onnx:model.onnx?"),
        ("onnx", "name the model: onnx:model.onnx"),
        ("litert:", "name the model: litert:model.tflite"),
        ("tflite", "name the model: litert:model.tflite"),
        ("sub/inner:kw", "did you mean sub.inner:kw?"),
        ("./sub/inner.py:kw", "did you mean sub.inner:kw?"),
        ("../mine:detect", "nor installed"),
    ],
)
def test_a_misnamed_detector_is_told_the_near_one(
    client: Client, referee: Referee, tmp_path: Path, name: str, told: str
) -> None:
    (tmp_path / "mine.py").write_text(
        "size = 3\ndef detect(jpeg, categories): ...\ndef one(jpeg): ...\n"
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.py").write_text("def kw(jpeg, categories): ...\n")
    done = client("run", referee.url, *TEAM, "--detector", name)
    assert done.returncode == 1
    assert done.stderr.endswith(f"{told}\n")
    assert done.stderr.count("\n") == 1
    assert referee.phase == "armed"


def test_an_async_detector_is_told_so_without_a_warning_of_python(
    client: Client, referee: Referee, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text("async def detect(jpeg, categories): ...\n")
    referee.health = {"categories": referee.categories, "images": 5}
    done = client("run", referee.url, *TEAM, "--detector", "mine:detect")
    assert done.returncode == 1
    assert "`detect` must be a plain function, not an async one" in done.stderr
    assert done.stderr.count("\n") == 1


def test_packages_of_an_extra_are_those_of_the_distribution() -> None:
    project = tomllib.loads(Path("client/pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        assert list(packages) == extras[extra]


def test_refused_credentials_say_team_and_source_of_the_password(
    client: Client, referee: Referee, tmp_path: Path
) -> None:
    (tmp_path / "pass").write_text("secret-but-wrong\n")
    for arguments, source in (
        (("--password-file", "pass"), "the first line of pass"),
        ((), "LPIRC_PASSWORD"),
    ):
        done = client(
            "run",
            referee.url,
            "--team",
            "alhpa",
            "--no-preflight",
            *arguments,
        )
        assert done.returncode == 1
        assert f"the team was 'alhpa', the password {source}\n" in done.stderr
        assert "secret-but-wrong" not in done.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('"secret"', ", with blanks or quotes around it: remove them\n"),
        ("secret ", ", with blanks or quotes around it: remove them\n"),
        ("alpha secret", ", which must hold nothing else\n"),
    ],
)
def test_a_refused_line_with_more_than_a_password_is_told(
    client: Client, referee: Referee, tmp_path: Path, line: str, told: str
) -> None:
    (tmp_path / "pass").write_text(line)
    done = client("run", referee.url, *TEAM, "--password-file", "pass")
    assert done.returncode == 1
    assert done.stderr.endswith(f"the first line of pass{told}")


@pytest.mark.parametrize("more", [("--least", "5"), ("--stop", "best")])
def test_a_run_that_stays_open_has_no_end_to_choose(
    client: Client, referee: Referee, more: tuple[str, ...]
) -> None:
    done = client("run", referee.url, *TEAM, "--stay", *more)
    assert done.returncode == 1
    assert f"--stay never logs out, so {more[0]} does nothing" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--timeline", "found.csv"), "--timeline found.csv is used by another option"),
        (("--timeline", "pass"), "pass is used by another option, too; name another"),
        (("--timeline", "r", "--receipts", "r"), "--timeline r is used by another opt"),
        (("--timeline", "mine.py"), "exists, and is no such file; name another file\n"),
        (("--receipts", "set/images/r"), "set, where nothing may be added; name anot"),
    ],
)
def test_no_output_replaces_what_is_read_or_foreign(
    client: Client, referee: Referee, tmp_path: Path, arguments: Any, told: str
) -> None:
    (tmp_path / "set" / "images").mkdir(parents=True)
    for name in ("found.csv", "pass", "mine.py", "set/manifest.json"):
        (tmp_path / name).write_text("secret\n")
    before = {one.name for one in tmp_path.rglob("*")}
    given = ("found.csv", *TEAM, "--password-file", "pass")
    done = client("replay", referee.url, *given, *arguments)
    assert done.returncode == 1
    assert told in done.stderr
    assert {one.name for one in tmp_path.rglob("*")} == before
    assert (tmp_path / "found.csv").read_text() == "secret\n"


def test_a_key_that_cannot_be_read_is_called_a_key(client: Client) -> None:
    done = client("work", "http://127.0.0.1:1", "--name", "a", "--key-file", "none")
    assert done.returncode == 1
    assert "its first line must be the key\n" in done.stderr


@pytest.mark.parametrize(
    ("scheme", "told"),
    [
        ("http", "/cert.pem does nothing: write https://, or leave it out\n"),
        ("https", "/cert.pem holds no certificate in PEM form\n"),
    ],
)
def test_a_certificate_of_no_use_is_refused_before_the_password_is_sent(
    client: Client, referee: Referee, tmp_path: Path, scheme: str, told: str
) -> None:
    (tmp_path / "cert.pem").write_text("no certificate\n")
    url = referee.url.replace("http", scheme)
    done = client("run", url, *TEAM, "--ca-cert", "cert.pem")
    assert done.returncode == 1
    assert told in done.stderr
    assert referee.requests == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it holds no detections, so a run would have the accuracy 0"),
        (HEADER, "it holds no detections, so a run would have the accuracy 0"),
        (HEADER.replace(",", ";") + ROW, "line 1: 1 value instead of 7; semicolons"),
        ("1;7;0,5;1;2;3;4\n", "line 1: 2 values instead of 7; semicolons"),
        ("1,7,1,2,3,4\n", "which are image, category, confidence, xmin, ymin, xmax"),
        ('[{"image_id": 1}]\n', "line 1: this seems to be JSON; give CSV"),
        ("class,id,score,x1,y1,x2,y2\n", "it has class, id, score, x1, y1, x2, y2"),
        (HEADER + "6,7,0.5,1,2,3,4\n", "image '6' is not in 1..5. No run was opened"),
        (HEADER + "1,8,0.5,1,2,3,4\n", "not one of this contest's 1: 7. No run was"),
        (
            HEADER + "1,red_disc,0.5,1,2,3,4\n",
            "contest's 1, but 'red-disc' is. No run was",
        ),
        (HEADER + "1,boat,0.5,1,2,3,4\n", "contest's 1: red-disc. No run was"),
    ],
)
def test_a_recording_that_cannot_be_replayed_opens_no_run(
    client: Client, referee: Referee, tmp_path: Path, text: str, told: str
) -> None:
    referee.health = {"categories": referee.categories, "images": 5, "window_s": 60}
    (tmp_path / "found.csv").write_text(text)
    done = client("replay", referee.url, "found.csv", *TEAM)
    assert done.returncode == 1
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert referee.phase == "armed"


def test_the_folder_of_a_test_set_is_found_above_the_one_that_was_given(
    client: Client, referee: Referee, tmp_path: Path
) -> None:
    images = tmp_path / "set" / "images"
    images.mkdir(parents=True)
    (tmp_path / "set" / "manifest.json").write_text("{}")
    (tmp_path / "found.csv").write_text(HEADER + ROW)
    for given in ("set/images", "set/manifest.json"):
        arguments = ("found.csv", *TEAM, "--testset", given)
        done = client("replay", referee.url, *arguments)
        assert done.returncode == 1
        assert f"{given}: it is no folder of a test set" in done.stderr
        assert "did you mean set?\n" in done.stderr


@pytest.mark.parametrize(
    ("images", "told"),
    [
        ("none", "none: there is no such folder\n"),
        ("a.jpg", "a.jpg: it is a file; give the folder with the images\n"),
        ("empty", "empty: neither a test set nor a folder with JPEG files\n"),
    ],
)
def test_images_that_are_not_there_say_what_is(
    client: Client, tmp_path: Path, images: str, told: str
) -> None:
    (tmp_path / "a.jpg").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine.py").write_text("def detect(jpeg, categories): return []\n")
    done = client("check", "--detector", "mine:detect", "--images", images)
    assert done.returncode == 1
    assert done.stderr == f"lpirc-client: {told}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("image,class\n", "in COCO format: it is not JSON\n"),
        ("[]", "but COCO's results perhaps\n"),
        ('{"annotations": []}', "it has no list 'images'\n"),
        (
            json.dumps({"images": [], "categories": [], "annotations": []}),
            "it has no image 'a.jpg'\n",
        ),
        (
            json.dumps(
                {
                    "images": [{"id": 1, "file_name": "a.jpg"}],
                    "categories": [],
                    "annotations": [{"image_id": 1}],
                }
            ),
            "an entry lacks a value, or has one of another type\n",
        ),
    ],
)
def test_ground_truth_of_another_form_says_what_it_lacks(
    client: Client, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "a.jpg").write_bytes(b"")
    (tmp_path / "truth.json").write_text(text)
    (tmp_path / "mine.py").write_text("def detect(jpeg, categories): return []\n")
    done = client(
        "check",
        *("--detector", "mine:detect", "--images", "."),
        *("--ground-truth", "truth.json"),
    )
    assert done.returncode == 1
    assert done.stderr.endswith(told)
    assert "Error(" not in done.stderr


def test_a_file_without_categories_is_refused(client: Client, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"")
    (tmp_path / "names.txt").write_text("")
    (tmp_path / "mine.py").write_text("def detect(jpeg, categories): return []\n")
    done = client(
        "check",
        *("--detector", "mine:detect", "--images", "."),
        *("--categories", "names.txt"),
    )
    assert done.returncode == 1
    assert "names.txt: it names no category; write one name per line" in done.stderr


def test_no_sentence_has_a_number_of_the_system(
    client: Client, referee: Referee, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text("def detect(jpeg, categories): return []\n")
    port = referee.url.rpartition(":")[2]
    for arguments in (
        ("run", referee.url, *TEAM, "--receipts", "none/r.jsonl"),
        ("run", referee.url, *TEAM, "--receipts", str(tmp_path)),
        ("links", referee.url, "--kept", "none"),
        ("check", referee.url, "--proxy", port),
    ):
        done = client(*arguments)
        assert done.returncode == 1
        assert "Errno" not in done.stderr
        assert done.stderr.count("\n") == 1
