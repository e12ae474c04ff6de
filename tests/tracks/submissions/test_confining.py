"""How often it is looked at how models are confined."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lpirc_tracks.submissions import confining
from lpirc_tracks.submissions.confining import KEPT_S, Confinement, Looks
from tests.referee.factories import DrivenClock


def test_many_uploads_at_once_start_one_look_and_later_ones_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = []

    def look(hidden: object) -> Confinement:
        looks.append(hidden)
        return Confinement(len(looks) > 1, f"look {len(looks)}")

    monkeypatch.setattr(confining, "confinement_of", look)
    clock = DrivenClock()
    hidden = [Path("day")]
    known = Looks(clock)
    with ThreadPoolExecutor(8) as uploads:
        found = set(
            uploads.map(lambda _: known.confinement_of(hidden).sentence, range(8))
        )
    assert found == {"look 1"}
    assert looks == [hidden]
    clock.advance(KEPT_S)
    assert known.confinement_of(
        hidden
    ).is_in_force  # bubblewrap was installed meanwhile
