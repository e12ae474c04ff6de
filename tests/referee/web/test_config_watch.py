"""contest.toml changed while it is served: noticed, told once, and said at every arming until the next start."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from referee.clock import Clock
from referee.config import read_config
from referee.config.contest_file import read_contest_file
from referee.web.config_watch import (
    ConfigWatch,
    differences,
    note_settings,
    note_unwritten,
)
from tests.contest_day import Day, until
from tests.forbidden import LOOP, loop_at
from tests.referee.factories import START, House

TEXT = 'name = "Hall"\n[[stations]]\nname = "left"\nmeter = "sim:"\n'


def test_what_changed_is_told_by_its_keys_and_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "contest.toml"
    path.write_text(TEXT)
    watch = ConfigWatch(tmp_path, read_config(tmp_path))
    assert watch.look() is None
    path.write_text("window_s = 300\n" + TEXT + "current_range_a = 0.5\n")
    assert str(watch.look()).startswith(
        "contest.toml was changed: stations.left.current_range_a: none -> 0.5; window_s: 600 -> 300. "
    )
    assert watch.changed == watch.look()
    path.write_text(TEXT + '[backup]\nfolder = "stick"\n')
    assert "backup.folder:  -> stick. " in str(watch.look())
    path.write_text(TEXT + "# a comment changes nothing\n")
    assert watch.look() is None


def test_a_row_that_is_renamed_new_or_gone_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "contest.toml"
    meter = 'meter = "TCPIP::1::INSTR"\n'
    path.write_text(f'name = "Hall"\n[[stations]]\nname = "S2"\n{meter}')
    before = read_config(tmp_path)
    path.write_text(
        f'name = "Hall"\n[[stations]]\nname = "Table 2"\n{meter}settle_s = 2\n'
        '[[stations]]\nname = "S3"\nmeter = "sim:"\n'
    )
    after = read_config(tmp_path)
    assert differences(before, after) == [
        "station S2 is now called Table 2",
        "station S3 is new (sim:)",
        "stations.Table 2.settle_s: 0.0 -> 2.0",
    ]
    assert differences(after, before)[:2] == [
        "station Table 2 is now called S2",
        "station S3 is taken away",
    ]


def test_a_change_on_record_that_a_kill_kept_from_the_file_is_said_at_the_next_start(
    build: Callable[..., House],
) -> None:
    made = build(name="hall")
    (made.contest.folder / "contest.toml").write_text(TEXT)
    version = read_contest_file(made.contest.folder).version
    changed = ["window_s: 600 -> 900"]
    act = {"operator": "ruth", "action": "settings", "changed": changed}
    with made.store.log.act(START, None, **act, before=version):
        pass
    note_unwritten(made.contest, Clock())
    note_unwritten(made.contest, Clock())
    acts = [one.values for one in made.store.log.after(0) if one.kind == "operator"]
    assert [one["action"] for one in acts] == ["settings", "settings-not-written"]
    assert acts[1]["changed"] == changed


def test_a_file_that_is_invalid_or_gone_is_told_by_its_own_sentence(
    tmp_path: Path,
) -> None:
    path = tmp_path / "contest.toml"
    path.write_text(TEXT)
    watch = ConfigWatch(tmp_path, read_config(tmp_path))
    path.write_text("windows = 5\n" + TEXT)
    assert "no longer valid" in str(watch.look())
    assert "unknown key 'windows'" in str(watch.changed)
    path.unlink()
    assert "contest.toml is gone; put it back." in str(watch.look())


def test_each_start_of_the_server_is_on_record_with_what_changed_since_the_last(
    build: Callable[..., House],
) -> None:
    made = build(name="hall")
    note_settings(made.contest, Clock())
    note_settings(made.contest, Clock())
    config = replace(made.contest.config, window_s=300, freeze_at=START)
    note_settings(replace(made.contest, config=config), Clock())
    note_settings(made.contest, Clock())
    first, same, other, back = (
        one.values for one in made.store.log.after(0) if one.kind == "settings"
    )
    assert first["changed"] == {}
    assert (
        first["values"]["stations.one.meter"] == made.contest.config.stations[0].meter
    )
    assert same == {"digest": first["digest"]}
    assert other["changed"] == {"window_s": [600, 300], "freeze_at": [None, str(START)]}
    assert back["changed"] == {"window_s": [300, 600], "freeze_at": [str(START), None]}
    assert back["digest"] == first["digest"] != other["digest"]
    secrets = [made.contest.operator_key, made.contest.secret.hex()]
    assert not any(secret in json.dumps([first, other]) for secret in secrets)


def test_the_server_tells_it_once_and_every_arming_warns(
    day: Callable[..., Day],
) -> None:
    made = day(auto_arm=False, teams=("ant", "bee"))
    assert made.server is not None
    with made.store() as store:
        assert store.log.last_settings() is not None, "of this start"
    path = made.folder / "contest.toml"
    path.write_text(
        path.read_text().replace("teams_see_score = false", "teams_see_score = true")
    )
    until(lambda: "teams_see_score: false -> true" in made.server.log.read_text())  # type: ignore[union-attr]
    armed = made.refers("run", "arm", "ant")
    assert armed.returncode == 0
    assert (
        "Warning: contest.toml was changed: teams_see_score: false -> true."
        in armed.stderr
    )
    assert made.server.log.read_text().count("teams_see_score") == 1
    made.refers("run", "void", "1", "--reason", "rearm")
    path.write_text(
        path.read_text().replace("teams_see_score = true", "teams_see_score = false")
    )
    again = made.refers("run", "arm", "ant", "--extra-time", "60", "--anyway")
    assert "Warning" not in again.stderr
    assert " for 660 s, meter" in again.stdout
    assert made.run(2).window_s == 660.0
    assert made.run(2).extra_s == 60.0


def test_a_file_that_cannot_be_looked_at_is_not_called_gone(tmp_path: Path) -> None:
    path = tmp_path / "contest.toml"
    path.write_text(TEXT)
    watch = ConfigWatch(tmp_path, read_config(tmp_path))
    path.unlink()
    loop_at(path)
    assert (
        f"the server keeps the settings it was started with. {path} cannot be accessed: {LOOP}."
        in str(watch.look())
    )
