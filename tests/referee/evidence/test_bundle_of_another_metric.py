"""A contest that counts by a metric of another distribution: judged, bundled and verified with it, and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_testsets import synthesize
from referee.contest import create_contest, open_contest
from referee.errors import RefereeError
from referee.evidence.bundle_verification import verify
from referee.evidence.given_facts import Given
from tests.plugins_installed import plugins_in
from tests.referee.evidence.proved import by_main, by_second, failed, opened
from tests.referee.evidence.test_bundles_of_each_metric import made_bundles, result_of
from tests.referee.factories import config_text

SAMPLE = Path(__file__).parents[2] / "plugin_sample" / "lpirc_sample" / "metrics.py"
ENTRIES = """lpirc-75 = sample_metrics:STRICTER
found = sample_metrics:FOUND"""


@pytest.mark.parametrize("metric", ["found", "lpirc-75"])
def test_a_bundle_holds_with_its_metric_and_says_what_is_missing_without(
    tmp_path: Path,
    metric: str,
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    with plugins_in(site) as installer:
        installer.install(
            "sample_metrics",
            "lpirc.metrics",
            ENTRIES,
            SAMPLE.read_text(),
        )
        made = made_bundles(tmp_path, [metric], is_bound=True)[metric]
        assert "|engine:sample_metrics-1.0|" in str(result_of(made)["signature"])
        with_it = by_main(made.data)
    assert failed(with_it) == []

    assert failed(by_main(made.data)) == []
    assert "sample_metrics-1.0" in opened(made.data)["result.json"].decode()
    items = {item.name: item for item in verify(made.data, Given())}
    assert items["map"].outcome == "not checked"
    assert items["map"].sentence == (
        f"The metric {metric} was computed by sample_metrics-1.0, which is not installed "
        f"here; install sample_metrics-1.0 and verify again."
    )
    second = by_second(made.data)
    assert failed(second) == []


def test_a_contest_with_a_metric_that_is_missing_or_broken_is_not_opened(
    tmp_path: Path,
) -> None:
    test_set = synthesize(
        tmp_path / "set",
        images=2,
        categories=2,
        seed=1,
        size=(96, 64),
    )
    site = tmp_path / "site"
    site.mkdir()
    with plugins_in(site) as installer:
        installer.install("broken", "lpirc.metrics", "found = broken:NOTHING", "")
        with (
            pytest.raises(RefereeError) as caught,
            open_contest(create_contest_folder(tmp_path / "broken", test_set)),
        ):
            pass
    assert ": metric = 'found': The plug-in lpirc.metrics" in caught.value.sentence
    unknown = r"contest\.toml, line \d+: metric = 'found' is unknown; the metrics are"
    with (
        pytest.raises(RefereeError, match=unknown),
        open_contest(tmp_path / "broken"),
    ):
        pass


def create_contest_folder(folder: Path, test_set: object) -> Path:
    create_contest(folder, config_text(test_set, metric="found"))  # type: ignore[arg-type]
    return folder
