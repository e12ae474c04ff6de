"""The protocol over a real socket, from a real daemon with a real simulated meter, in the harness's own words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests import warm_programs

STARTING = (
    "Starting untimed measurement, maximum 500000 samples at {}ms with 0 rampup samples"
)
ROW = re.compile(
    r"Time,\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d{3},Watts,([^,]+),Volts,([^,]+),Amps,([^,]+),PF,([^,]+)"
)
CURRENTS = "0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20"
RANGES = (
    ":INPUT:VOLTAGE:RANGE?",
    ":INPUT:VOLTAGE:AUTO?",
    ":INPUT:CURRENT:RANGE?",
    ":INPUT:CURRENT:AUTO?",
    ":RATE?",
)


def samples(client: Any) -> list[list[float]]:
    """Ask for the new samples as the harness does: a line with their number, and so many lines."""
    assert client.ask("RL,*,*") == "Invalid number of parameters"
    count = int(client.ask("RL").split(" ")[1])
    rows = [ROW.fullmatch(client.line()) for _ in range(count)]
    return [[*map(float, row.groups())] for row in rows if row]


def measured(
    client: Any,
    until: Any,
    count: int,
) -> None:
    until(lambda: int(client.ask("Watts").split(",")[4]) >= count)


def test_a_ranging_and_a_testing_run_as_the_harness_has_them(
    simulate: Any,
    serving: Any,
    client: Any,
    until: Any,
) -> None:
    address = simulate("--model", "WT310E", "--load", "constant:36W").address
    daemon = serving(address)
    asking = client(daemon)
    assert asking.ask("Hello") == "Hello, PTDaemon here!"
    asking.ask("Identify")
    assert re.fullmatch(r"Ranges,1,[\d.]+,1,[\d.]+", asking.ask("RR"))

    assert asking.ask("SR,V,Auto") == "Range V changed"
    assert asking.ask("SR,A,Auto") == "Range A changed"
    assert asking.ask("Go,100,0,the_ranging") == STARTING.format(100)
    measured(asking, until, 3)
    assert asking.ask("Stop") == "Stopping untimed measurement"
    assert len(samples(asking)) >= 3

    # The harness asks for the largest voltage, and 1.1 times the largest current.
    assert asking.ask("SR,V,120.000000") == "Range V changed"
    assert asking.ask("SR,A,0.330000") == "Range A changed"
    assert asking.ask("RR") == "Ranges,0,0.500000,0,150.000000"
    assert asking.ask("Go,100,0,the_testing") == STARTING.format(100)
    measured(asking, until, 3)
    assert asking.ask("Stop") == "Stopping untimed measurement"
    rows = samples(asking)
    # The harness waits for ten seconds before Go: an update in which a range changes measures nothing.
    known = [row for row in rows if row != [-1.0] * 4]
    blind = len(rows) - len(known)
    assert blind <= 2
    assert known == [[36.0, 120.0, 0.3, 1.0]] * len(known)
    assert asking.ask("RL") == "Last 0 samples"
    watts, bad, good = asking.ask("Watts").rsplit(",", 2)
    assert watts == f"Watts,36.000000,36.000000,36.000000,{len(rows)}"
    assert int(good) == len(known)
    name, mean, *_, total, invalid, good, unknown = asking.ask("Uncertainty").split(",")
    assert name == "Uncertainty"
    assert int(total) == len(rows)
    assert int(invalid) == 0
    assert int(good) == len(known)
    assert int(unknown) == blind
    assert 0.001 < float(mean) < 0.005
    assert asking.ask("Stop") == "Error: no measurement to stop"

    marks = [
        line.rsplit(",", 1)[1]
        for line in daemon.log.read_text().splitlines()
        if ROW.match(line)
    ]
    assert marks.count("the_testing") == len(rows)
    said = [line[23:].strip() for line in daemon.end()]
    assert ": Uncertainty checking for YokogawaWT310E is activated" in said
    assert said.index(": Go with mark 'the_ranging'") < said.index(": Completed test")
    assert said.index(": Completed test") < said.index(": Go with mark 'the_testing'")
    assert said.count(": Completed test") == 2
    # On a busy machine it may miss some, and says so.
    gaps = re.findall(
        r"no sample for (\d+) update",
        "".join(said[said.index(": Go with mark 'the_testing'") :]),
    )
    assert int(bad) == blind + sum(map(int, gaps))


def test_a_sample_is_taken_each_second_and_ramp_up_samples_are_left_out(
    idle: Any,
    client: Any,
    until: Any,
) -> None:
    asking = client(idle)
    assert asking.ask("Go,1000,0") == STARTING.format(1000)
    assert asking.ask("Stop") == "Stopping untimed measurement"
    assert asking.ask("Go,100,1000000").endswith("at 100ms with 1000000 rampup samples")
    assert asking.ask("Stop") == "Stopping untimed measurement"
    assert samples(asking) == []


def test_it_says_that_it_is_not_the_daemon_of_spec(
    simulate: Any,
    serving: Any,
    client: Any,
) -> None:
    fields = (
        client(serving(simulate("--model", "WT310E").address))
        .ask("Identify")
        .split(",")
    )
    assert fields[0] == "YokogawaWT310E"
    assert fields[8] == "0", "SPEC has not accepted it"
    assert re.fullmatch(r"version=lpirc meter [\d.]+-not SPEC PTDaemon", fields[9])
    assert fields[-1].startswith("YOKOGAWA;WT310E;SIMULATED;")


def test_the_meter_gets_its_settings_back(
    simulate: Any,
    serving: Any,
    client: Any,
    panel: Any,
    until: Any,
) -> None:
    address = simulate().address
    panel(address, ":INPUT:VOLTAGE:RANGE 300V", ":INPUT:CURRENT:RANGE 1A")
    before = panel(address, *RANGES)
    daemon = serving(address)
    asking = client(daemon)
    assert asking.ask("RR") == "Ranges,0,1.000000,0,300.000000"
    assert asking.ask("SR,V,Auto") == "Range V changed"
    assert asking.ask("SR,A,2") == "Range A changed"
    assert asking.ask("Go,100,0") == STARTING.format(100)
    measured(asking, until, 1)
    assert panel(address, *RANGES) != before
    daemon.end()  # in mid-measurement
    assert panel(address, *RANGES) == before


def test_clients_come_one_after_the_other(
    simulate: Any,
    serving: Any,
    client: Any,
    until: Any,
) -> None:
    daemon = serving(simulate().address)
    first = client(daemon)
    assert first.ask("Go,100,0,mark") == STARTING.format(100)
    first.close()
    second = client(daemon)
    measured(second, until, 2)
    assert second.ask("Stop") == "Stopping untimed measurement"


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("Dance", "Unknown command: Dance"),
        ("", "Unknown command: "),
        (3000 * "x", f"Unknown command: {100 * 'x'}"),
        ("SR,V", "Invalid number of parameters"),
        ("SR,W,1", "Invalid number of parameters"),
        ("Go", "Invalid number of parameters"),
        (
            "SR,A,99",
            f"Error: This meter has no current range 99 A; it has {CURRENTS} A.",
        ),
        (
            "SR,A,-1",
            f"Error: This meter has no current range -1 A; it has {CURRENTS} A.",
        ),
        (
            "SR,A,much",
            "Error: 'SR,A,much' has a word, or too large a number, where a number must be.",
        ),
        (
            "Go,1" + 400 * "0" + ",0",
            f"Error: 'Go,1{96 * '0'}' has a word, or too large a number, where a number must be.",
        ),
        (
            "Go,300,0",
            "Error: This meter has no update interval 0.3 s; it has 0.1, 0.25, 0.5, 1, 2, 5 s.",
        ),
        ("Stop", "Error: no measurement to stop"),
        ("Watts", "Watts,-1.000000,-1.000000,-1.000000,0,0,0"),
        ("Uncertainty", "Uncertainty,-1.000000,-1.000000,-1.000000,0,0,0,0"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_the_next_command_works(
    idle: Any,
    client: Any,
    command: str,
    answer: str,
) -> None:
    asking = client(idle)
    assert asking.ask(command) == answer
    assert asking.ask("Hello") == "Hello, PTDaemon here!"


def test_a_measurement_must_be_stopped_before_anything_is_set(
    simulate: Any,
    serving: Any,
    client: Any,
) -> None:
    asking = client(serving(simulate().address))
    asking.ask("Go,100,0")
    for command in ("SR,A,2", "Go,100,0"):
        assert asking.ask(command) == "Error: A measurement is running; Stop ends it."


def test_a_lost_meter_is_said_in_every_answer_and_in_the_log(
    simulate: Any,
    serving: Any,
    client: Any,
    relay: Any,
    until: Any,
) -> None:
    cable = relay(simulate().port)
    daemon = serving(cable.address)
    asking = client(daemon)
    assert asking.ask("Go,100,0") == STARTING.format(100)
    measured(asking, until, 1)
    cable.cut()
    until(lambda: "lost" in asking.ask("Watts"))
    for command in ("RR", "RL", "Uncertainty", "Stop"):
        assert asking.ask(command).startswith("Error: "), command
    cable.mend()
    assert any(": ERROR: " in line and "lost" in line for line in daemon.end())


def test_samples_missed_while_the_link_was_away_are_counted(
    simulate: Any,
    serving: Any,
    client: Any,
    relay: Any,
    until: Any,
) -> None:
    cable = relay(simulate().port)
    daemon = serving(cable.address)
    asking = client(daemon)
    asking.ask("Go,100,0")
    measured(asking, until, 1)
    cable.cut()
    until(lambda: asking.ask("Watts").startswith("Error: "))
    cable.mend()
    until(lambda: not asking.ask("Watts").startswith("Error: "))
    until(lambda: int(asking.ask("Watts").split(",")[5]) > 0)
    assert asking.ask("Stop") == "Stopping untimed measurement"
    assert any("ERROR: The meter gave no sample for" in line for line in daemon.end())


def test_samples_that_are_too_uncertain_are_counted_and_warned_of(
    simulate: Any,
    serving: Any,
    client: Any,
    until: Any,
) -> None:
    daemon = serving(simulate("--load", "constant:36W").address)
    asking = client(daemon)
    asking.ask("SR,V,600")
    asking.ask("SR,A,20")
    asking.ask("Go,100,0")
    until(lambda: int(asking.ask("Uncertainty").split(",")[5]) >= 2)
    asking.ask("Stop")
    mean, *_, total, invalid, good, unknown = map(
        float,
        asking.ask("Uncertainty").split(",")[1:],
    )
    assert mean > 0.05
    assert invalid + unknown == total
    assert good == 0
    warning = r".*: WARNING: Uncertainty \d+.\d+%, which is above 1.00% limit for the last sample!"
    assert sum(bool(re.fullmatch(warning, line)) for line in daemon.end()) == invalid


def test_a_clipped_sample_is_no_measurement(
    simulate: Any,
    serving: Any,
    client: Any,
    until: Any,
) -> None:
    daemon = serving(simulate("--load", "constant:36W,crest=9").address)
    asking = client(daemon)
    asking.ask("SR,A,0.33")
    asking.ask("Go,100,0")
    until(lambda: int(asking.ask("Watts").split(",")[5]) >= 2)
    asking.ask("Stop")
    assert asking.ask("Watts").startswith("Watts,-1.000000,")
    assert {tuple(row) for row in samples(asking)} == {(-1.0,) * 4}
    assert any(
        "ERROR: Bad watts reading nan from WT310: " in line for line in daemon.end()
    )


def test_a_setting_changed_at_the_panel_is_an_error_in_the_log(
    simulate: Any,
    serving: Any,
    client: Any,
    panel: Any,
    until: Any,
) -> None:
    address = simulate().address
    daemon = serving(address)
    asking = client(daemon)
    asking.ask("Go,100,0")
    measured(asking, until, 1)
    panel(address, ":INPUT:CFACTOR 6")
    assert asking.ask("Stop") == "Stopping untimed measurement"
    assert any(
        "ERROR: A setting changed during the measurement: :INPUT:CFACTOR 3" in line
        for line in daemon.end()
    )


def test_a_meter_that_holds_an_energy_is_left_alone(
    simulate: Any,
    panel: Any,
) -> None:
    address = simulate().address
    panel(address, ":INTEGRATE:START", ":INTEGRATE:STOP")
    ended = warm_programs.run(["meter", "ptd", "-p", "0", address])
    assert ended.returncode == 1
    assert "still holds the energy of a run" in ended.stderr


def test_a_port_that_is_taken_is_one_sentence(
    idle: Any,
    simulate: Any,
) -> None:
    ended = warm_programs.run(
        ["meter", "ptd", "-p", str(idle.port), simulate().address]
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        f"meter: Port {idle.port} is not free (Address already in use); "
        "choose a --port.\n"
    )


def test_several_channels_are_listed_with_their_sum(
    simulate: Any,
    serving: Any,
    client: Any,
    until: Any,
) -> None:
    address = simulate("--model", "WT333E", "--load", "constant:36W").address
    daemon = serving(address, "-c", "1,2", kind="77")
    asking = client(daemon)
    assert asking.ask("Identify").split(",")[0] == "YokogawaWT330_multichannel"
    # The load is shared by three elements, of which two are measured.
    assert asking.ask("SR,V,120") == "Range V changed"
    assert asking.ask("SR,A,0.5") == "Range A changed"
    assert asking.ask("Go,100,0,the_mark") == STARTING.format(100)
    measured(asking, until, 4)
    assert asking.ask("Stop") == "Stopping untimed measurement"
    count = int(asking.ask("RL,*,*").split(" ")[1])
    rows = [asking.line() for _ in range(count)]
    channel = "Watts,12.000000,Volts,120.000000,Amps,0.100000,PF,1.000000"
    total = "Watts,24.000000,Volts,-1.000000,Amps,-1.000000,PF,-1.000000"
    known = [
        row for row in rows if row.split(",", 2)[2] == f"{total},{channel},{channel}"
    ]
    assert len(known) >= count - 2 >= 1, rows
    assert asking.ask("RL,*,*") == "Last 0 samples"
    assert asking.ask("DC-RL") == "Unknown command: DC-RL"
    assert asking.ask("Watts").startswith("Watts,24.000000,24.000000,24.000000,")
    logged = [line for line in daemon.log.read_text().splitlines() if total in line]
    assert (
        logged[0].split(",", 2)[2]
        == f"{total},Mark,the_mark,Ch1,{channel},Ch2,{channel}"
    )


def test_channels_are_read_again_after_the_link_was_lost(
    simulate: Any,
    serving: Any,
    client: Any,
    relay: Any,
    until: Any,
) -> None:
    cable = relay(simulate("--model", "WT333E").port)
    daemon = serving(cable.address, "-c", "2,2", kind="77")
    asking = client(daemon)
    asking.ask("Go,100,0")
    measured(asking, until, 1)
    cable.cut()
    until(lambda: asking.ask("Watts").startswith("Error: "))
    cable.mend()
    until(lambda: not asking.ask("Watts").startswith("Error: "))
    asking.ask("RL,*,*")
    before = len(daemon.log.read_text().splitlines())
    until(lambda: len(daemon.log.read_text().splitlines()) > before + 2)
    assert ",Ch2,Watts," in daemon.log.read_text().splitlines()[-1]
    assert ",Ch3,Watts," in daemon.log.read_text().splitlines()[-1]
    daemon.end()


def test_the_meter_gets_its_items_and_wiring_back_from_channels(
    simulate: Any,
    serving: Any,
    client: Any,
    panel: Any,
    until: Any,
) -> None:
    address = simulate("--model", "WT333E").address
    panel(address, ":INPUT:WIRING P3W3")
    asked = (
        ":NUMERIC:NORMAL:NUMBER?",
        *(f":NUMERIC:NORMAL:ITEM{place}?" for place in range(1, 25)),
        ":INPUT:WIRING?",
    )
    before = panel(address, *asked)
    daemon = serving(address, "-c", "1,3", kind="77")
    asking = client(daemon)
    asking.ask("Go,100,0")
    measured(asking, until, 1)
    assert panel(address, *asked) != before
    daemon.end()
    assert panel(address, *asked) == before


def test_direct_current_is_listed_by_its_own_command(
    simulate: Any,
    serving: Any,
    client: Any,
    panel: Any,
    until: Any,
) -> None:
    address = simulate("--model", "WT310E", "--load", "constant:36W").address
    daemon = serving(address, "-D", kind="549")
    asking = client(daemon)
    assert asking.ask("Identify").split(",")[0] == "YokogawaWT310_DC"
    asking.ask("Go,100,0,mark")
    measured(asking, until, 2)
    assert panel(address, ":INPUT:MODE?") == ["DC"]
    asking.ask("Stop")
    assert asking.ask("RL,*,*") == "Unknown command: RL"
    count = int(asking.ask("DC-RL").split(" ")[1])
    assert count >= 2
    assert all(ROW.fullmatch(asking.line()) for _ in range(count))
    daemon.end()
    assert panel(address, ":INPUT:MODE?") == ["RMS"]


def test_two_daemons_serve_two_meters_as_two_analyzers(
    simulate: Any,
    serving: Any,
    client: Any,
    until: Any,
) -> None:
    analyzers = []
    for watts in (12, 24):
        address = simulate("--model", "WT310E", "--load", f"constant:{watts}W").address
        analyzers.append((client(serving(address)), watts))
    for asking, _ in analyzers:
        assert asking.ask("Go,100,0,both") == STARTING.format(100)
    for asking, watts in analyzers:
        measured(asking, until, 2)
        assert asking.ask("Stop") == "Stopping untimed measurement"
        assert asking.ask("Watts").startswith(f"Watts,{watts}.000000,")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["77"],
            "Type 77 is a multichannel device: -c must say which channels, as in `-c 1,2`.",
        ),
        (
            ["-c", "1,2", "77"],
            "-c asks for channel 2, but a WT310 has channel 1 only; change `channel` in server.conf.",
        ),
    ],
)
def test_channels_that_cannot_be_had_are_one_sentence_at_the_start(
    simulate: Any,
    options: list[str],
    sentence: str,
) -> None:
    ended = warm_programs.run(["meter", "ptd", "-p", "0", *options, simulate().address])
    assert ended.returncode == 1
    assert ended.stderr == f"meter: {sentence}\n"
