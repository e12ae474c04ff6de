"""The files for containers: what they name exists, is in a release, and agrees with the units of the host."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from referee.cli import main as referee
from tests.deploy.deployment import GUIDE, Deployment
from tests.release.__main__ import DEPLOYED, SUMS
from tests.release.requirements import NAME as REQUIREMENTS

NOBODY = "http://127.0.0.1:9"  # the discard port
FOLDED = re.compile(r"\\\n\s*")
WORDS = re.compile(r"^([A-Z]+) (.*)$", re.MULTILINE)


def steps(target: str) -> list[tuple[str, str]]:
    """The instructions of one stage of the Containerfile: a word in capitals, and what follows it."""
    text = FOLDED.sub(" ", (GUIDE / "Containerfile").read_text())
    stages = re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]
    (found,) = (
        one for one in stages if one.partition("\n")[0].endswith(f"AS {target}")
    )
    return WORDS.findall(found)


def step(target: str, word: str) -> str:
    (found,) = (rest for name, rest in steps(target) if name == word)
    return found


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((GUIDE / "compose.yaml").read_text())
    services: dict[str, Any] = read["services"]
    assert {*read["volumes"]} == {"contest"}
    return services


def test_every_stage_has_the_same_base_which_can_be_another() -> None:
    text = (GUIDE / "Containerfile").read_text()
    stages = re.findall(r"^FROM (\S+)(?: AS (\S+))?$", text, re.MULTILINE)
    assert stages == [("${BASE}", one) for one in ("installed", "referee", "front")]
    assert re.search(r"^ARG BASE=debian:", text, re.MULTILINE)


def test_what_is_copied_is_in_a_release() -> None:
    assert {"Containerfile", "compose.yaml"} <= {*DEPLOYED}
    for name in DEPLOYED:
        assert (GUIDE / name).is_file()
    *copied, _ = step("front", "COPY").split()
    assert {*copied} <= {*DEPLOYED}
    built = " ".join(rest for word, rest in steps("installed") if word == "RUN")
    assert SUMS in built
    assert f"--require-hashes -r {REQUIREMENTS}" in built


def test_the_referee_is_no_root_and_starts_as_its_unit_does() -> None:
    assert step("referee", "USER") == "referee"
    unit = (GUIDE / "referee.service").read_text()
    (started,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    program, *words = shlex.split(started)
    assert json.loads(step("referee", "CMD")) == words
    (entry,) = json.loads(step("referee", "ENTRYPOINT"))
    assert entry == Path(program).name
    folder = str(Path(program).parent)
    assert step("referee", "ENV").startswith(f"PATH={folder}:")
    assert step("referee", "VOLUME") == "/var/lib/referee"
    assert CliRunner().invoke(referee, [words[0], "--help"]).exit_code == 0


def test_the_logs_of_nginx_that_are_named_are_those_of_its_configuration() -> None:
    changed = " ".join(rest for word, rest in steps("front") if word == "RUN")
    texts = "".join(
        (GUIDE / one).read_text() for one in DEPLOYED if one.endswith(".conf")
    )
    for written in re.findall(r"s\|([^|]*)\|", changed):
        assert texts.count(written) == 1, written


def test_both_services_hold_what_the_page_says(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["network_mode"] == "host"
        assert service["security_opt"] == ["no-new-privileges"]
        assert service["build"]["target"] == name
    assert services["referee"]["volumes"] == ["contest:/var/lib/referee"]
    assert "cap_add" not in services["referee"]
    mounted = {one.split(":")[1] for one in services["front"]["volumes"]}
    nginx = (GUIDE / "nginx.conf").read_text()
    assert mounted == {*re.findall(r"ssl_certificate(?:_key)? (\S+);", nginx)}
    healthy = services["front"]["depends_on"]["referee"]["condition"]
    assert healthy == "service_healthy"


def test_nginx_writes_only_where_it_may(services: dict[str, Any]) -> None:
    writable = services["front"]["tmpfs"]
    texts = "".join(
        (GUIDE / one).read_text() for one in DEPLOYED if one.endswith(".conf")
    )
    places = re.findall(
        r"^ *(?:pid|client_body_temp_path|proxy_cache_path) (\S+?)[ ;]",
        texts,
        re.MULTILINE,
    )
    assert len(places) >= 3
    for place in places:
        assert any(place.startswith(f"{one}/") for one in writable), place


def test_the_health_check_is_that_of_the_image_and_tells_a_server_from_none(
    services: dict[str, Any], deployment: Deployment
) -> None:
    *_, code = command = json.loads(step("referee", "HEALTHCHECK").partition("CMD ")[2])
    assert services["referee"]["healthcheck"]["test"] == ["CMD", *command]
    assert command[:2] == ["python", "-c"]
    assert deployment.day.server is not None
    for url, passes in ((deployment.day.server.url, True), (NOBODY, False)):
        here = code.replace("http://127.0.0.1:8080", url)
        assert here != code
        done = subprocess.run(
            [sys.executable, "-c", here], capture_output=True, check=False
        )
        assert (done.returncode == 0) is passes, done.stderr
