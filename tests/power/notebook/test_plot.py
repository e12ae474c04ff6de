"""What a notebook shows: SVG and HTML that stand on their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lpirc_power import LiveRecording, MeterError, OpenMeter, read_recorded

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def recording(
    meter: OpenMeter,
    until_measured: Any,
) -> LiveRecording:
    with meter.recording("run.csv") as made, made.mark("a <b> & c"):
        until_measured(made, 6)
    return made


def test_a_plot_is_one_svg_with_the_power_and_the_marks(
    recording: LiveRecording,
) -> None:
    plot = recording.plot()
    assert plot._repr_svg_() == plot.svg
    assert repr(plot) == f"<plot: {plot.chart.label}>"
    drawn = ElementTree.fromstring(plot.svg)  # noqa: S314  our own
    assert drawn.tag == f"{SVG}svg"
    assert drawn.get("width") == "860"
    assert [one.text for one in drawn.iter(f"{SVG}title")].count("a <b> & c") == 1
    assert len([*drawn.iter(f"{SVG}path")]) == 1
    assert "36" in str(drawn.get("aria-label"))
    assert "var(--" in plot.svg
    assert "http" not in plot.svg.replace("http://www.w3.org/2000/svg", "")


def test_a_plot_is_saved(
    recording: LiveRecording,
) -> None:
    assert recording.plot().save("power.svg") == Path("power.svg")
    assert Path("power.svg").read_text() == recording.plot().svg


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "power.png",
            "power.png must end in .svg: a plot is saved as SVG, which browsers and typesetters read.",
        ),
        (
            "none/power.svg",
            "none/power.svg cannot be written: No such file or directory.",
        ),
    ],
)
def test_a_plot_that_cannot_be_saved_is_one_sentence(
    recording: LiveRecording,
    name: str,
    sentence: str,
) -> None:
    with pytest.raises(MeterError) as refused:
        recording.plot().save(name)
    assert refused.value.code == "plot-file"
    assert refused.value.sentence == sentence


def test_a_cell_shows_figures_checks_and_plot_and_every_rule_is_its_own(
    recording: LiveRecording,
) -> None:
    shown = recording._repr_html_()
    cell = ElementTree.fromstring(shown.replace("<br>", "<br/>"))  # noqa: S314  our own
    assert cell.get("class") == "lpirc"
    text = " ".join(cell.itertext())
    for word in (
        "energy",
        "uncertainty",
        "mean power",
        "official-meter",
        "YOKOGAWA WT310",
    ):
        assert word in text
    head, marks = [row for row in cell.iter("tr") if len(row) == 5]
    assert [one.text for one in head][:2] == ["mark", "bands"]
    assert [one.text for one in marks][:2] == ["a <b> & c", "1"]
    (mark,) = recording.marks.values()
    assert marks[3].text == f"{mark.mean_power_w:.5g} W"
    style = cell.findtext("style") or ""
    rules = [rule.strip() for rule in style.split("}") if rule.strip()]
    assert all(rule.startswith((".lpirc", ".chart")) for rule in rules)
    assert "<script" not in shown
    assert "a &lt;b&gt; &amp; c" in shown


def test_a_recording_that_needs_review_says_so_in_its_cell(
    recording: LiveRecording,
) -> None:
    rows = Path("run.csv").read_text().splitlines()
    Path("old.csv").write_text("\n".join(rows[:3]) + "\n")
    found = read_recorded("old.csv")
    shown = found._repr_html_()
    for note in found.notes:
        assert note.split(":")[0] in shown
