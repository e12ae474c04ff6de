"""The original referee of 2015 and this one, request by request: direct and behind nginx.

Every difference stands with its reason in tests/referee/web/legacy/differences.json.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from lpirc_testsets import synthesize
from referee.clock import Clock
from tests.contest_day import contest_day, shared
from tests.deploy.deployment import HOST, Nginx, program, upstream
from tests.referee.web.legacy.original_requests import (
    IMAGES,
    PASSWORD,
    TEAM,
    answer_to,
    named_differences,
    original_line,
    original_requests,
)

WAYS = ("direct", "nginx")
ADDRESSES = 250  # nginx limits the log-ins of each


@pytest.mark.parametrize("way", WAYS)
def test_the_requests_of_those_years_get_their_answers_or_another_one_for_a_reason(
    tmp_path: Path,
    way: str,
) -> None:
    requests = original_requests(shared("legacy", "requests.jsonl"))
    with ExitStack() as stack:
        if way == "nginx":
            program("nginx")
        testset = synthesize(
            tmp_path / "set",
            images=IMAGES,
            categories=3,
            seed=4,
            size=(96, 64),
        ).folder
        made = stack.enter_context(contest_day(tmp_path / "contest", testset, teams=()))
        password_hash = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(
            PASSWORD
        )
        with made.store() as store:
            store.teams.add(TEAM, password_hash, Clock().utc())
        config = made.folder / "contest.toml"
        config.write_text(f'trusted_proxy = ["{HOST}"]\n{config.read_text()}')
        server = made.serve()
        port = server.port
        if way == "nginx":
            (folder := tmp_path / "nginx").mkdir()
            port = stack.enter_context(closing(Nginx(folder, upstream(port)))).port
        token = server.ask(
            "POST",
            "/login",
            data={"username": TEAM, "password": PASSWORD},
        ).text
        answers = {
            one.name: answer_to(
                (HOST, port),
                f"127.0.20.{n % ADDRESSES + 1}",
                one,
                token,
            )
            for n, one in enumerate(requests)
        }
    different = {
        name: answer[WAYS.index(way)] for name, answer in named_differences().items()
    }
    wrong = []
    for one in requests:
        original = original_line(one)
        expected = {different.get(one.name, original)}
        if one.how == "half":  # direct, the answer may be on its way, or a part of it
            expected.add(original)
            expected.update(
                [answers[one.name]] if original.startswith(answers[one.name]) else []
            )
        if answers[one.name] not in expected:
            wrong.append((one.name, expected, answers[one.name]))
    assert wrong == []
    assert len(answers) == len(requests) == 385
