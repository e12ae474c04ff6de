from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

LOOP = """
import json, time
start_s = time.monotonic()
time.sleep(1.5)
loop = {"inferences": 100, "start_monotonic_s": start_s, "end_monotonic_s": time.monotonic()}
print(json.dumps({"kept": 1, "energy_loop": loop}))
"""
ABSENT = (
    '{"energy_loop": {"inferences": 0, "start_monotonic_s": 1, "end_monotonic_s": 2}}'
)


def test_what_a_program_prints_gets_the_energy_of_its_loop_and_the_meter_its_settings(
    simulate: Any,
    meter: Any,
    knobs: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    before = knobs(address)
    ended = meter("loop", address, "--", sys.executable, "-c", LOOP)
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    energy = document["energy"]
    assert document["kept"] == 1
    assert energy["inferences"] == 100
    assert energy["official"] is False
    assert energy["inference_j"] == pytest.approx(36 * energy["loop_s"] / 100, rel=0.02)
    assert knobs(address)[4:] == before[4:]  # ranges on automatic may have moved


@pytest.mark.parametrize(
    ("address", "program", "code", "told"),
    [
        ("sim:", ("sh", "-c", "echo bad; exit 7"), 7, "bad\n"),
        ("sim:", ("echo", "no JSON"), 1, "states no energy_loop"),
        ("sim:", ("echo", '{"energy_loop": []}'), 1, "states no energy_loop"),
        ("sim:", ("echo", ABSENT), 1, "of 0 inferences from 1 s to 2 s is impossible"),
        ("nowhere", ("touch", "it-ran"), 1, '"code": "meter-wrong-address"'),
    ],
)
def test_what_fails_is_told_as_a_benchmark_tells_it(
    meter: Any,
    tmp_path: Path,
    address: str,
    program: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    ended = meter("loop", address, "--", *program)
    assert ended.returncode == code
    assert ended.stderr == ""
    assert told in ended.stdout
    assert code == 7 or set(json.loads(ended.stdout)["error"]) == {
        "code",
        "sentence",
        "facts",
    }
    assert not (tmp_path / "it-ran").exists()
