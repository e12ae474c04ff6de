"""Every figure on the pages that show results, computed again from the rows of the database by other arithmetic."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from html import unescape
from itertools import combinations
from pathlib import Path
from statistics import mean, pstdev

import pytest
from flask.testing import FlaskClient

from referee.clock import Clock
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.judging.replay_publisher import ReplayPublisher
from referee.publishing.site_publication import publish_site
from referee.store.records import Heat
from referee.web.app import create_app
from tests.contest_day import HASH, PASSWORD, called
from tests.referee.factories import START, House, StillClock
from tests.referee.judging.judged_runs import closed_run

TEAMS = ("moles", "voles", "stoats")
# (team, energy, heat): a round robin of three, and a second attempt of the first team.
RUNS = (
    ("moles", 1.0, "one"),
    ("voles", 1.7, "one"),
    ("voles", 1.3, "two"),
    ("stoats", 2.6, "two"),
    ("moles", 0.9, "three"),
    ("stoats", 2.9, "three"),
)
FIGURE = re.compile(r"(?<![\d.])\d+\.\d{4,5}(?!\d)")
TAGS = re.compile(r"<[^>]+>")
PAST = "Past champions"
FACTS = '<dl class="facts">'


class Result:
    """A run's figures as its rows have them: the mean of its categories, the meter's energy, one by the other."""

    def __init__(self, team: str, energy_wh: float, ap: str) -> None:
        found = [value for value in json.loads(ap).values() if value is not None]
        self.team = team
        self.map = sum(found) / len(found)
        self.energy_wh = energy_wh
        self.score = self.map / energy_wh

    @property
    def texts(self) -> set[str]:
        return {f"{self.score:.4f}", f"{self.map:.5f}", f"{self.energy_wh:.4f}"}


def results_of(folder: Path) -> dict[int, Result]:
    asked = "SELECT runs.id, team, runs.energy_wh, ap FROM runs JOIN scores ON run = runs.id"
    with closing(sqlite3.connect(folder / "contest.db")) as database:
        return {run: Result(*rest) for run, *rest in database.execute(asked)}


def best_of(results: dict[int, Result]) -> list[Result]:
    """The best run of each team, the highest score first."""
    best: dict[str, Result] = {}
    for one in sorted(results.values(), key=lambda one: one.score):
        best[one.team] = one
    return [*reversed(best.values())]


def bars_of(best: list[Result]) -> set[str]:
    """The bars of the prizes of 2016: one deviation better than the mean of all teams."""
    reached = [one.map for one in best]
    taken = [one.energy_wh for one in best]
    bar_map = mean(reached) + pstdev(reached)
    bar_wh = mean(taken) - pstdev(taken)
    return {f"{bar_map:.5f}", f"{bar_wh:.4f}"}


def read(markup: str) -> str:
    """The text of a page without its tags, and without the champions of earlier years."""
    body = markup.partition("<body")[2].partition(PAST)[0]
    return " ".join(unescape(TAGS.sub(" ", body)).split())


@pytest.fixture
def house(build: Callable[..., House]) -> House:
    made = build(heats="round-robin", attempts=9)
    for team in TEAMS:
        made.store.teams.add(team, HASH, START)
    for seed, (team, energy_wh, heat) in enumerate(RUNS):
        made.store.heats.put(Heat(heat, START.isoformat(), "jo", 1))
        run = closed_run(made.contest, team, energy_wh, seed, heat=heat)
        judge(made.contest, run.id, Clock())
    Publisher(made.contest, Clock()).tick()
    replays = ReplayPublisher(made.contest, Clock())
    for _ in made.store.runs.find():  # one each time
        replays.tick()
    return made


@pytest.fixture
def client(house: House) -> FlaskClient:
    app = create_app(house.contest, house.control, StillClock(60.0))
    client = app.test_client()
    form = {"team": TEAMS[0], "password": PASSWORD}
    assert client.post("/team/login", data=form).status_code == 303
    return client


def markup(client: FlaskClient, house: House, path: str) -> str:
    headers = {"Accept": "text/html,*/*"}
    if path.startswith("/operator"):
        headers["Authorization"] = f"Bearer {house.contest.operator_key}"
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def shown(results: dict[int, Result]) -> Iterator[tuple[str, set[str]]]:
    """(address, the figures that its page must show); it may show those of every run, and no other figure."""
    best = best_of(results)
    yield "/", set().union(*(one.texts for one in best))
    yield "/?view=projector", {f"{one.score:.4f}" for one in best}
    yield "/operator/", set().union(*(one.texts for one in results.values()))
    yield "/replay", {f"{one.score:.4f}" for one in best}
    for number, one in results.items():
        yield f"/operator/runs/{number}", one.texts
    for team in TEAMS:
        own = [one.texts for one in results.values() if one.team == team]
        yield f"/teams/{team}", set().union(*own)
        if team == TEAMS[0]:
            yield "/team/", set().union(*own)
    for heat in dict.fromkeys(heat for _, _, heat in RUNS):
        of_heat = [
            results[number].texts
            for number, (_, _, of) in enumerate(RUNS, start=1)
            if of == heat
        ]
        yield f"/heats/{heat}", set().union(*of_heat)
        yield f"/operator/heats/{heat}", set().union(*of_heat)


def test_every_page_shows_the_figures_of_the_rows_and_no_others(
    house: House,
    client: FlaskClient,
) -> None:
    results = results_of(house.contest.folder)
    assert len(results) == len(RUNS)
    every = set().union(*(one.texts for one in results.values()))
    every |= bars_of(best_of(results))
    for path, expected in shown(results):
        page = markup(client, house, path)
        if path.startswith("/operator/runs/"):  # checks have figures of their own
            page = f"<body>{page.partition(FACTS)[2].partition('</dl>')[0]}"
        found = set(FIGURE.findall(read(page)))
        assert expected <= found, path
        assert found <= every, path


def test_ranking_and_attempts_are_those_of_the_rows(
    house: House,
    client: FlaskClient,
) -> None:
    results = results_of(house.contest.folder)
    best = best_of(results)
    board = client.get("/board.json").get_json()
    for rank, (place, one) in enumerate(
        zip(board["ranking"], best, strict=True), start=1
    ):
        assert (place["rank"], place["team"]) == (rank, one.team)
        assert place["energy_wh"] == pytest.approx(one.energy_wh, rel=1e-9)
        assert place["map"] == round(one.map, 5)
        assert place["score"] == round(one.score, 4)
    for path in ("/", "/?view=projector"):
        text = read(markup(client, house, path))
        at = [text.index(f"{one.score:.4f}") for one in best]
        assert at == sorted(at), path
    used = Counter(team for team, _, _ in RUNS)
    stated = {one["team"]: one["used"] for one in board["attempts"] if one["used"]}
    assert stated == used
    text = read(markup(client, house, "/"))
    for team, count in used.items():
        assert f"{team} {count} of 9" in text


def test_the_table_of_the_round_robin_counts_the_meetings_of_the_rows(
    house: House,
    client: FlaskClient,
) -> None:
    results = results_of(house.contest.folder)
    played: Counter[str] = Counter()
    won: Counter[str] = Counter()
    heats = [heat for _, _, heat in RUNS]
    for one, other in combinations(sorted(results), 2):
        if heats[one - 1] == heats[other - 1]:
            sides = (results[one], results[other])
            played.update(side.team for side in sides)
            won[max(sides, key=lambda side: side.score).team] += 1
    text = read(markup(client, house, "/heats"))
    for team in TEAMS:
        lost = played[team] - won[team]
        row = rf"\b\d+ {team} \d+ {played[team]} {won[team]} 0 {lost}\b"
        assert re.search(row, text), (team, text)


def test_the_published_site_shows_the_figures_of_the_rows_and_no_others(
    house: House,
    tmp_path: Path,
) -> None:
    results = results_of(house.contest.folder)
    every = set().union(*(one.texts for one in results.values()))
    site = tmp_path / "site"
    publish_site(house.contest, site, START + timedelta(hours=1))
    seen: set[str] = set()
    for page in site.rglob("*.html"):
        found = set(FIGURE.findall(read(page.read_text())))
        assert found <= every | bars_of(best_of(results)), page.name
        seen |= found
    assert seen >= every


def test_the_season_page_shows_the_figures_of_the_rows_and_no_others(
    house: House,
    tmp_path: Path,
) -> None:
    results = results_of(house.contest.folder)
    every = {text for one in results.values() for text in one.texts}
    out = tmp_path / "season"
    called("season", str(house.contest.folder), "--out", str(out))
    markup = (out / "season.html").read_text()
    assert set(FIGURE.findall(read(markup))) == every
    best = best_of(results)
    text = read(markup.partition("<details")[0])
    at = [text.index(f"{one.score:.4f}") for one in best]
    assert at == sorted(at)
