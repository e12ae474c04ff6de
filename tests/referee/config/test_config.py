from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.meter import Setup
from referee.config import (
    ContestConfig,
    ModelTrack,
    Station,
    place_of_key,
    read_config,
)
from referee.config.rule_table import RuleTable, rule_text
from referee.contest_rules import DEFAULT, RULES, rule_named
from referee.errors import RefereeError

STATION = '[[stations]]\nname = "one"\nmeter = "sim:"\n'
GOOD = 'name = "Hall"\n' + STATION
WITHIN = GOOD + '[rule]\nname = "accuracy-within-limit"\n'


def test_the_place_of_a_key_is_the_file_if_that_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "contest.toml"
    assert place_of_key(file, "metric") == str(file)
    (tmp_path / "top.toml").write_text('name = "Hall"\nmetric = "mAP"\n')
    told = place_of_key(tmp_path / "top.toml", "metric")
    assert told == f"{tmp_path / 'top.toml'}, line 2"


def read(folder: Path, text: str | bytes) -> ContestConfig:
    path = folder / "contest.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_config(folder)


def complaint(folder: Path, text: str | bytes) -> str:
    with pytest.raises(RefereeError) as failure:
        read(folder, text)
    assert failure.value.code == "bad-config"
    sentence = failure.value.sentence
    assert sentence.startswith(str(folder / "contest.toml"))
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    return sentence.removeprefix(str(folder / "contest.toml"))


def test_a_missing_key_has_its_default(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD) == ContestConfig("Hall", (Station("one", "sim:"),))


def test_every_key_is_read(tmp_path: Path) -> None:
    text = """\
name = "Hall"
window_s = 300
metric = "voc2012"
testset = "../sets/day 2"
shuffle = false
auto_arm = true
trusted_proxy = ["127.0.0.1", "fd00::/8"]
[[stations]]
name = "left"
meter = "TCPIP::10.0.0.7::INSTR"
voltage_range_v = 150
current_range_a = 0.5
update_interval_s = 0.1
mode = "dc"
clients = ["192.168.1.0/24", "10.0.0.7"]
[[stations]]
name = "right"
meter = "TCPIP::10.0.0.8::INSTR"
"""
    left = Station(
        "left",
        "TCPIP::10.0.0.7::INSTR",
        150.0,
        0.5,
        0.1,
        "dc",
        clients=("192.168.1.0/24", "10.0.0.7"),
    )
    right = Station("right", "TCPIP::10.0.0.8::INSTR")
    expected = ContestConfig(
        "Hall",
        (left, right),
        300,
        "voc2012",
        testset="../sets/day 2",
        shuffle=False,
        auto_arm=True,
        trusted_proxy=("127.0.0.1", "fd00::/8"),
    )
    assert read(tmp_path, text) == expected


TRACK = GOOD + '[[tracks]]\nname = "ovic"\ntestset = "public"\n'


def test_a_track_is_read_with_its_defaults(tmp_path: Path) -> None:
    (track,) = read(tmp_path, TRACK).tracks
    assert track == ModelTrack("ovic", "public")
    assert track.rule_name == "ovic"
    assert track.submissions_per_day == 3
    assert track.holdout == ""


def test_a_track_names_its_rule_and_changes_its_settings(tmp_path: Path) -> None:
    text = (
        TRACK
        + """\
rule = "ovic-detection"
holdout = "prize"
submissions_per_day = 1
device = "pi-5"
[tracks.settings]
k = 16.8
base = "e"
"""
    )
    expected = ModelTrack(
        "ovic",
        "public",
        "ovic-detection",
        "prize",
        1,
        "pi-5",
        {"k": 16.8, "base": "e"},
    )
    assert read(tmp_path, text).tracks == (expected,)
    assert expected.rule_name == "ovic-detection"


def test_a_station_says_how_its_meter_is_set_up(tmp_path: Path) -> None:
    text = (
        GOOD
        + """\
voltage_range_v = 300
crest_factor = 6
line_filter = true
synchronize = "off"
element = "sum"
ambient_change_c = 2
settle_s = 10
zero_max_age_min = 0
"""
    )
    setup = read(tmp_path, text).stations[0].setup(600)
    assert setup == Setup(
        300.0, None, 0.25, 600, crest_factor=6, line_filter=True, synchronize="off", element="sum",
        ambient_change_c=2.0,
    )  # fmt: skip
    found = read(tmp_path, text).stations[0]
    assert found.settle_s == 10.0
    assert found.zero_max_age_min == 0.0


def test_a_folder_without_configuration_is_not_a_contest(tmp_path: Path) -> None:
    for name in ("made/set/images", "made/other", "day"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "made/set/manifest.json").touch()
    (tmp_path / "day/contest.toml").touch()
    for name, told in {
        "made": "is not a contest folder: it has no contest.toml. Make one with: referee init ",
        "": "it has no contest.toml. The contest in it is day.",
        "dya": f"There is no folder {tmp_path}/dya. Did you mean '{tmp_path}/day'?",
        "nowhere": f"There is no folder {tmp_path}/nowhere. The contest beside it is day.",
        "made/other/2026": f"There is no folder {tmp_path}/made/other/2026; check the path.",
        "2026*": f"Nothing matches {tmp_path}/2026*; name contest folders that exist.",
        "made/set": "/set is a test set, and no contest. For a contest with it: referee init NEW_FOLDER --testset",
        "made/set/images": f"/images is in the test set {tmp_path}/made/set, and no contest.",
    }.items():
        with pytest.raises(RefereeError, match=re.escape(told)) as failure:
            read_config(tmp_path / name)
        assert failure.value.code == "contest-missing"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('window_s = "10 min"\n' + GOOD, "window_s = '10 min' must be a whole number of seconds; 10 min is 600."),
        ('least_map = "1%"\n' + GOOD, "least_map = '1%' must be a number; 1% is 0.01."),
        ("least_map = 5\n" + GOOD, "least_map = 5 must be an accuracy, at most 1; 5 % is 0.05."),
        ("publish_by = true\n" + GOOD, "publish_by = true must be 0 (at once), 1 (one person confirms"),
        (GOOD + 'zero_max_age_min = "1 h"\n', "zero_max_age_min = '1 h' must be a number of minutes; 1 h is 60."),
        ("windows_s = 5\n" + GOOD, "line 1: unknown key 'windows_s'. Did you mean 'window_s'?"),
        ("xyzzy = 5\n" + GOOD, "line 1: unknown key 'xyzzy'; the keys are attempts, auto_arm, auto_judge"),
        ("shuffle = True\n" + GOOD, "line 1 is not TOML: 'shuffle = True'; write true or false, in small letters."),
        ('board_url = "hall.example"\n' + GOOD, "board_url = 'hall.example' must begin with http:// or https://"),
        ("testset = 'D:\\set'\n" + GOOD, "testset = 'D:\\\\set' is a path of Windows; write it as this system"),
        ("testset = 'd\\set'\n" + GOOD, "testset = 'd\\\\set' has a \\; write / between folders."),
        ('window_s = "60"\n' + GOOD, "window_s = '60' must be a whole number of seconds, without quotes: 60."),
        ('shuffle = "true"\n' + GOOD, "shuffle = 'true' must be true or false, without quotes: true."),
        ('board_url = "https://"\n' + GOOD, "board_url = 'https://' has no host or port that can be, as http://"),
        ('board_url = "http://10.0.0.256/"\n' + GOOD, "board_url = 'http://10.0.0.256/' has no host or port"),
        ('board_url = "http://hall:99999/"\n' + GOOD, "board_url = 'http://hall:99999/' has no host or port"),
        ('board_url = "https://hall/a b"\n' + GOOD, "board_url = 'https://hall/a b' has a blank or a line break"),
        (
            GOOD + "attempts = 3\n",
            "unknown key 'attempts' in this table; move its line to the top of the file, above the first [table].",
        ),
        (GOOD + "every_min = 3\n", "unknown key 'every_min' in this table; move its line to [backup]."),
        ("[backup]\nmeter = 'sim:'\n", "move its line to [[stations]], whose line may be missing above it."),
        (
            GOOD + "atempts = 3\n",
            "Did you mean 'attempts', which belongs to the top of the file, above the first [table]?",
        ),
        ("windw_s = 3\n" + GOOD, ". Did you mean 'window_s'?"),
        (GOOD + "xyzzy = 3\n", "update_interval_s, voltage_range_v, zero_max_age_min."),
        (GOOD + "settle_s = 31\n", "settle_s = 31 must be at most 30 seconds: arming takes that long."),
        (GOOD + "settle_s = -1\n", "settle_s = -1 must be a number of 0 or more."),
        (GOOD + "range = 5\n", "station 1: unknown key 'range'; the keys are ambient_change_c, clients, crest_factor"),
        (STATION, "the key 'name' is missing"),
        ('name = "Hall"\n', "there is no station"),
        ('name = "Hall"\nstations = []\n', "there is no station"),
        ('name = "Hall"\n[stations]\nname = "one"\n', "stations must be written as [[stations]] tables"),
        ('name = "Hall"\nstations = [1]\n', "stations must be written as [[stations]] tables"),
        ('name = "Hall"\n[[stations]]\nname = "one"\n', "station 1: the key 'meter' is missing"),
        (GOOD + '[[stations]]\nmeter = "sim:"\n', "station 2: the key 'name' is missing"),
        (GOOD + STATION, "the station name 'one' is given twice"),
        (
            GOOD + STATION.replace('"one"', '"One"'),
            "another station's name differs from 'One' only in capitals",
        ),
        ('name = "Hall"\n[[stations]]\nname = " "\nmeter = "sim:"\n', "name is blank"),
        ("name = 5\n" + STATION, "name = 5 must be a text in quotes"),
        ("window_s = 60.5\n" + GOOD, "window_s = 60.5 must be a whole number"),
        ("window_s = true\n" + GOOD, "window_s = true must be a whole number"),
        ('window_s = "600"\n' + GOOD, "window_s = '600' must be a whole number"),
        ("window_s = 0\n" + GOOD, "window_s = 0 must lie between 1 and 86400"),
        ("window_s = -5\n" + GOOD, "window_s = -5 must lie between"),
        ("window_s = 86401\n" + GOOD, "window_s = 86401 must lie between"),
        ("shuffle = 1\n" + GOOD, "shuffle = 1 must be true or false"),
        ('auto_arm = "no"\n' + GOOD, "auto_arm = 'no' must be true or false"),
        (GOOD + "voltage_range_v = true\n", "station 1: voltage_range_v = true must be a number"),
        (GOOD + 'update_interval_s = "fast"\n', "update_interval_s = 'fast' must be a number"),
        (GOOD + "update_interval_s = 0\n", "update_interval_s = 0 must be a number above 0"),
        (GOOD + "update_interval_s = nan\n", "update_interval_s = nan must be a number above 0"),
        (GOOD + "current_range_a = -0.5\n", "current_range_a = -0.5 must be a number above 0"),
        (GOOD + "voltage_range_v = inf\n", "voltage_range_v = inf must be a number above 0"),
        (GOOD + 'mode = "ac"\n', "station 'one': mode = 'ac' must be one of 'rms', 'vmean', 'dc'"),
        (GOOD + "crest_factor = 4\n", "station 'one': crest_factor = 4 must be one of 3, 6"),
        (GOOD + 'synchronize = "u"\n', "synchronize = 'u' must be one of 'voltage', 'current', 'off'"),
        (GOOD + 'element = "4"\n', "element = '4' must be one of '1', '2', '3', 'sum'"),
        (GOOD + "element = 1\n", "element = 1 must be a text in quotes"),
        (GOOD + "line_filter = 1\n", "line_filter = 1 must be true or false"),
        ("idle_baseline_s = 0\n" + GOOD, "idle_baseline_s = 0 must be a number above 0"),
        ("idle_baseline_s = 31\n" + GOOD, "idle_baseline_s = 31 must be at most 30 seconds"),
        ("idle_baseline_s = 5\nauto_arm = true\n" + GOOD, "idle_baseline_s needs auto_arm = false"),
        (GOOD + 'clients = "10.0.0.7"\n', "station 1: clients = '10.0.0.7' must be a list of networks"),
        (GOOD + "clients = [7]\n", "clients = [7] must be a list of networks"),
        (GOOD + 'clients = ["hall"]\n', "clients has 'hall', which is neither a network nor an address"),
        (GOOD + 'clients = ["10.0.0.7/24"]\n', "'10.0.0.7/24', which is neither a network nor an address (its network"
            " is 10.0.0.0/24)"),
        ('trusted_proxy = "127.0.0.1"\n' + GOOD, "trusted_proxy = '127.0.0.1' must be a list of networks"),
        ("trusted_proxy = [7]\n" + GOOD, "trusted_proxy = [7] must be a list of networks"),
        ('trusted_proxy = ["nginx"]\n' + GOOD, "trusted_proxy has 'nginx', which is neither a network nor an address"),
        ('trusted_proxy = ["10.0.0.7/24"]\n' + GOOD, "(its network is 10.0.0.0/24)"),
        ('trusted_proxy = ["0.0.0.0/0"]\n' + GOOD, "trusted_proxy has '0.0.0.0/0', which is every address"),
        ('trusted_proxy = ["127.0.0.1", "::/0"]\n' + GOOD, "trusted_proxy has '::/0', which is every address"),
        (GOOD + 'trusted_proxy = ["127.0.0.1"]\n', "station 1: unknown key 'trusted_proxy'"),
        (GOOD + '[[tracks]]\nname = "a"\n', "track 1: the key 'testset' is missing"),
        (GOOD + '[tracks]\nname = "a"\n', "tracks must be written as [[tracks]] tables"),
        (TRACK + "holdout_part = 1\n", "track 'ovic': holdout_part = 1 must lie between 0 and 1."),
        (TRACK + "k = 5\n", "track 1: unknown key 'k'; the keys are calibration, device, devices, holdout"),
        (TRACK + "settings = 5\n", "track 1: settings = 5 must be written as [tracks.settings]"),
        (TRACK + "submissions_per_day = 0\n", "track 'ovic': submissions_per_day = 0 must lie between 1 and 10000"),
        (TRACK + "submissions_per_day = 2.5\n", "submissions_per_day = 2.5 must be a whole number"),
        (TRACK + "device = 5\n", "track 1: device = 5 must be a text in quotes"),
        (TRACK + 'devices = "pi-5"\n', "track 1: devices = 'pi-5' must be a list of names"),
        (TRACK + 'devices = ["a", "a"]\n', "devices = ['a', 'a'] must be names that are not blank, each once"),
        (TRACK + 'device = "a"\ndevices = ["a"]\n', "device and devices are both given"),
        (TRACK + 'calibration = "a.tflite"\n', "track 'ovic': calibration needs device or devices"),
        (TRACK + 'holdout = "public"\n', "track 'ovic': holdout is the public test set"),
        (TRACK.replace("public", ""), "track 'ovic': testset is blank"),
        (TRACK.replace("ovic", " "), "a track needs a name that is not blank"),
        ("images = 5\n" + GOOD, "images must be written as one table [images]"),
        ("images = { each = 5 }\n" + GOOD, "images: unknown key 'each'; the keys are per_attempt"),
        (GOOD + "[images]\nper_attempt = 2.5\n", "images: per_attempt = 2.5 must be a whole number"),
        ("backup = 5\n" + GOOD, "backup must be written as one table [backup]"),
        (GOOD + '[backup]\nplace = "x"\n', "backup: unknown key 'place'; the keys are every_min, folder"),
        (GOOD + "[backup]\nfolder = 5\n", "backup: folder = 5 must be a text in quotes"),
        (GOOD + '[backup]\nfolder = "a\\u0000"\n', ", line 6: folder = 'a\\x00' has the character NUL"),
        (GOOD + '[journal]\npath = "\\u0000"\n', ", line 6: path = '\\x00' has the character NUL"),
        (GOOD + "[backup]\nevery_min = 0\n", ", line 6, backup: every_min = 0 must be a number above 0"),
        (GOOD + "[images]\nper_attempt = -1\n", "images: per_attempt = -1 must be 0 (all images) or more"),
        ("rule = 5\n" + GOOD, "rule must be written as one table [rule]"),
        (GOOD + '[rule]\nname = "fastest"\n', ", line 6: rule: name = 'fastest' must be one of 'accuracy-per-wh'"),
        (GOOD + '[rule]\nlimit = 5\n', "rule: unknown key 'limit'; the keys are energy_limit_wh, image_limit_s"),
        (GOOD + "[rule]\nenergy_limit_wh = 5\n", ", line 6: rule: energy_limit_wh is no setting of the rule"),
        (GOOD + '[rule]\nname = "accuracy-within-limit"\n', "needs a limit: set one of energy_limit_wh, power_limit_w"),
        (WITHIN + "energy_limit_wh = 0\n", ", line 7, rule: energy_limit_wh = 0 must be a number above 0"),
        (WITHIN + "energy_limit_wh = nan\n", "energy_limit_wh = nan must be a number above 0"),
        (WITHIN + 'energy_limit_wh = "5 Wh"\n', "energy_limit_wh = '5 Wh' must be a number of Wh; 5 Wh is 5."),
        (GOOD + '[rule]\nname = "least-energy"\n', "needs least_accuracy, else the team that logs out at once wins."),
        (GOOD + '[rule]\nname = "least-energy"\nleast_accuracy = 50\n', "= 50 must be an accuracy, at most 1"),
        (GOOD + '[rule]\nname = "accuracy-per-excess-wh"\n', "needs its power: set idle_baseline_s, so that arming me"),
        ('count_unserved = "no"\n' + GOOD, "count_unserved = 'no' must be true or false"),
        (TRACK + TRACK.removeprefix(GOOD), "the track name 'ovic' is given twice"),
        (GOOD + f"voltage_range_v = 1{'0' * 400}\n", "whole number that does not fit into 64 bits"),
        (f"window_s = 1{'0' * 5000}\n" + GOOD, "cannot be read"),
        ("name = Hall\n", "cannot be read"),
        ("name = \"Hall\"\nname = \"Hall\"\n", "cannot be read"),
        ("a = " + "[" * 100_000, "cannot be read"),
        (b"name = \"\xff\"\n", "cannot be read"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_in_one_sentence_with_file_key_and_value(
    tmp_path: Path,
    text: str | bytes,
    reason: str,
) -> None:
    assert reason in complaint(tmp_path, text)


def test_backups_are_made_only_into_a_folder_that_is_named(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD).backup.folder == ""
    backup = read(
        tmp_path,
        GOOD + '[backup]\nfolder = "/media/stick"\nevery_min = 5\n',
    ).backup
    assert backup.folder == "/media/stick"
    assert backup.every_min == 5.0


def test_a_rule_is_read_with_its_settings(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD).contest_rule == DEFAULT
    within = read(tmp_path, WITHIN + "energy_limit_wh = 5\ntime_limit_s = 300\n")
    limits = {"energy_limit_wh": 5.0, "time_limit_s": 300.0}
    assert within.contest_rule == rule_named("accuracy-within-limit", limits)
    idle = '[rule]\nname = "accuracy-per-excess-wh"\n'
    measured = read(tmp_path, "idle_baseline_s = 10\n" + GOOD + idle)
    assert measured.contest_rule.takes_idle


def test_a_rule_that_is_written_as_a_table_is_read_back(tmp_path: Path) -> None:
    limits = {"energy_limit_wh": 0.1 + 0.2, "image_limit_s": 1e-3}
    for rule in (DEFAULT, rule_named("accuracy-within-limit", limits)):
        assert read(tmp_path, GOOD + rule_text(rule)).contest_rule == rule


def test_the_table_of_the_rule_has_each_setting_of_each_rule() -> None:
    keys = {one.name for one in fields(RuleTable)} - {"name"}
    assert keys == {one.name for kind in RULES.values() for one in fields(kind)}


def test_the_images_of_an_attempt_and_what_counts_are_settings(tmp_path: Path) -> None:
    usual = read(tmp_path, GOOD)
    assert usual.images.per_attempt == 0
    assert usual.count_unserved is False
    other = read(
        tmp_path,
        "count_unserved = true\n" + GOOD + "[images]\nper_attempt = 100\n",
    )
    assert other.images.per_attempt == 100
    assert other.count_unserved is True


def test_two_stations_cannot_share_a_meter(tmp_path: Path) -> None:
    text = 'name = "Hall"\n' + "".join(
        f'[[stations]]\nname = "{name}"\nmeter = "TCPIP::10.0.0.7::INSTR"\n'
        for name in ("left", "right")
    )
    assert "'TCPIP::10.0.0.7::INSTR' is given to two stations" in complaint(
        tmp_path,
        text,
    )
    other_library = text.replace("::INSTR", "::instr@py", 1)
    assert "'TCPIP::10.0.0.7::INSTR' is given to two stations" in complaint(
        tmp_path,
        other_library,
    )
    assert (
        len(read(tmp_path, text.replace("TCPIP::10.0.0.7::INSTR", "sim:")).stations)
        == 2
    )


def test_a_configuration_that_is_a_folder_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "contest.toml").mkdir()
    with pytest.raises(RefereeError, match="cannot be read") as failure:
        read_config(tmp_path)
    assert failure.value.code == "bad-config"


SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "true": st.just(True),
    "whole": st.integers(-(10**12), 10**12),
    "broken": st.floats(),
    "text": st.text(
        st.characters(
            codec="ascii",
            exclude_characters="'",
            min_codepoint=32,
            max_codepoint=126,
        )
    ),
}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("# a comment\n\nwindow_s = '5'\n" + GOOD, ", line 3: window_s = '5'"),
        (
            GOOD + STATION + "\n  'range' = 5\n",
            ", line 9, station 2: unknown key 'range'",
        ),
        (
            GOOD + "# name of the\n[images]\nper_attempt = 2.5\n",
            ", line 7, images: per_attempt = 2.5",
        ),
        (
            GOOD + "[[prizes]]\nname = 'Fun'\n",
            ", line 5, prize 1: the key 'rule' is missing",
        ),
        ("shuffle = 1\n" + GOOD, ", line 1: shuffle = 1 must"),
        ("tracks = [{ name = 5 }]\n" + GOOD, ", track 1: the key 'testset' is missing"),
        (
            "freeze_at = '15:30'\n" + GOOD,
            ", line 1: freeze_at = '15:30' must be a time with its offset",
        ),
        ("name = Hall\n", "line 1 is not TOML: 'name = Hall'; a text stands in quotes"),
        ("\ufeffname = 'a\u2028b'\nshuffle = 1\n", ", line 2: shuffle = 1"),
        (
            GOOD + "[[prizes]]\nname = 'Fun'\nrule = 'best-score'\n" * 2,
            ", line 9: the prize name 'Fun' is given twice",
        ),
        (
            "shuffle = true\nwindow_s = 0\n" + GOOD,
            ", line 2: window_s = 0 must lie between",
        ),
        (
            GOOD + STATION.replace("one", "two") + "mode = 'ac'\n",
            ", line 8: station 'two': mode = 'ac' must be",
        ),
        (
            GOOD + "[images]\nper_attempt = -1\n",
            ", line 6: images: per_attempt = -1 must be",
        ),
        (
            TRACK + "submissions_per_day = 0\n",
            ", line 8: track 'ovic': submissions_per_day = 0",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_line(
    tmp_path: Path,
    text: str,
    where: str,
) -> None:
    assert where in complaint(tmp_path, text)


@given(
    st.sampled_from(["window_s", "metric", "testset", "shuffle", "auto_arm", "extra"]),
    st.one_of(*SCALARS.values()),
)
def test_any_value_is_either_read_as_it_is_or_refused(
    tmp_path: Path,
    key: str,
    value: object,
) -> None:
    written = f"'{value}'" if isinstance(value, str) else str(value).lower()
    text = f"{key} = {written}\n" + GOOD
    try:
        config = read(tmp_path, text)
    except RefereeError:
        assert key in complaint(tmp_path, text)
    else:
        kept = getattr(config, key)
        assert type(kept) is type(value)
        assert kept == value


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    complaint(tmp_path, content)
