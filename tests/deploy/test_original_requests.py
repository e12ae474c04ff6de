"""The original referee of 2015 and this one, request by request: direct and behind nginx."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from lpirc_testsets import synthesize
from referee.clock import Clock
from tests.contest_day import Day, contest_day, shared
from tests.deploy.deployment import HOST, Nginx, program, upstream
from tests.referee.web.legacy.original_requests import (
    IMAGES, PASSWORD, TEAM, answer_to, original_line, original_requests,
)
from argon2 import PasswordHasher


@pytest.mark.parametrize("way", ["direct", "nginx"])
def test_the_requests_of_those_years_are_answered_as_they_were_or_with_a_reason(tmp_path: Path, way: str) -> None:
    asked = original_requests(shared("legacy", "requests.jsonl"))
    testset = synthesize(tmp_path / "set", images=IMAGES, categories=3, seed=4, size=(96, 64)).folder
    with ExitStack() as stack:
        made = stack.enter_context(contest_day(tmp_path / "contest", testset, teams=()))
        password_hash = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
        with made.store() as store:
            store.add_team(TEAM, password_hash, Clock().utc())
        config = made.folder / "contest.toml"
        config.write_text(f'trusted_proxy = ["{HOST}"]\n{config.read_text()}')
        server = made.serve()
        port = server.port
        if way == "nginx":
            folder = tmp_path / "nginx"
            folder.mkdir()
            port = stack.enter_context(closing(Nginx(folder, upstream(server.port)))).port
        login = server.ask("POST", "/login", data={"username": TEAM, "password": PASSWORD})
        token = login.text
        out = []
        for n, one in enumerate(asked):
            answered = answer_to((HOST, port), f"127.0.20.{n % 250 + 1}", one, token, one.status)
            out.append((one.name, original_line(one), answered))
    Path(f"/tmp/h/slots/{way}.json").write_text(json.dumps(out))
