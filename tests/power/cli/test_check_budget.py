"""`meter check --budget`: the table of the uncertainty budget as text and as CSV; and a recording in NumPy."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest

from tests.power.cli.conftest import Run, one_line
from tests.power.made_recordings import Made, steady


def test_the_budget_as_csv_adds_up_to_the_combined_uncertainty(
    meter: Run, tmp_path: Path
) -> None:
    Made(tmp_path).series("some", [steady(6.0), steady(6.1)])
    ended = meter("check", "some.json", "--budget", "csv")
    assert ended.returncode == 0, ended.stderr
    rows = list(csv.DictReader(io.StringIO(ended.stdout)))
    names = list(dict.fromkeys(one["recording"] for one in rows))
    assert names == ["some-1.csv", "some-2.csv", "mean"]
    for name in names:
        *terms, combined = (one for one in rows if one["recording"] == name)
        assert combined["code"] == "combined"
        squares = [float(one["standard_wh"]) ** 2 for one in terms]
        assert math.sqrt(sum(squares)) > 0
        assert sum(float(one["share"]) for one in terms) == pytest.approx(1.0)


def test_the_budget_as_text_has_each_term_with_its_share(
    meter: Run, tmp_path: Path
) -> None:
    Made(tmp_path).group("pair", {"main": steady(6.0), "board": steady(5.0)})
    ended = meter("check", "pair.json", "--budget", "text")
    assert ended.returncode == 0, ended.stderr
    assert "budget           main\n" in ended.stdout
    assert "budget           board\n" in ended.stdout
    lines = ended.stdout.splitlines()
    assert any(one.startswith("the error of the reading") for one in lines)
    assert any(one.startswith("combined ") and "100.0%" in one for one in lines)


def test_a_trapezoid_of_somebodys_powers_has_no_terms_of_a_counter(
    meter: Run, tmp_path: Path
) -> None:
    rows = "".join(f"{second},36,120,0.3\n" for second in range(20))
    (tmp_path / "old.csv").write_text(f"seconds,Power (W),U (V),I (A)\n{rows}")
    stated = ("--voltage-range", "150", "--current-range", "0.5")
    for options in ((), ("--model", "WT310E", *stated)):
        ended = meter("check", "old.csv", "--budget", "csv", *options)
        codes = [one["code"] for one in csv.DictReader(io.StringIO(ended.stdout))]
        assert "start-stop" in codes
        assert not {"age", "resolution-wh", "resolution-time"} & set(codes)
        assert "IM WT310-17EN" not in ended.stdout


def test_a_budget_in_another_form_is_refused(meter: Run, tmp_path: Path) -> None:
    Made(tmp_path).series("some", [steady(6.0)])
    ended = meter("check", "some.json", "--budget", "html")
    assert ended.returncode != 0
    assert "html" in ended.stderr


def test_without_an_energy_there_is_no_budget_and_one_sentence(
    meter: Run, tmp_path: Path
) -> None:
    (tmp_path / "old.csv").write_text("t,P\n0,nan\n1,nan\n")
    ended = meter("check", "old.csv", "--budget", "text")
    assert ended.returncode == 1
    assert one_line(ended.stderr)


def test_numpy_reads_a_recording_as_the_docs_say(tmp_path: Path) -> None:
    Made(tmp_path).series("some", [steady(6.0)])
    found = np.genfromtxt(
        tmp_path / "some-1.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
    )
    assert found["power_w"].mean() == pytest.approx(6.0)
    assert {"monotonic_s", "utc", "energy_wh"} <= set(found.dtype.names or ())
