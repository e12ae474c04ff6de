"""`--skipped-last-time`: of all tests, only those that the last run skipped.

What a bare machine skips is tried again where the packages are installed: the other tests already ran there.
"""

from __future__ import annotations

import pytest

OPTION = "--skipped-last-time"
RECORD = "lpirc/skipped"


def add_option(parser: pytest.Parser) -> None:
    """Let pytest know the option."""
    parser.addoption(OPTION, action="store_true", help="run what the last run skipped")


def check(config: pytest.Config) -> None:
    """With the option, end the run if there is nothing to go by, and without a failure if nothing was skipped.

    Raises:
        pytest.UsageError: no run is recorded.
    """
    if not config.getoption(OPTION):
        return
    recorded = _recorded(config)
    if recorded is None:
        raise pytest.UsageError(f"no run is recorded; run without {OPTION} first")
    if not recorded:
        pytest.exit("the last run skipped nothing", returncode=0)


def keep_only_skipped(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where the option is given, take out of `items` whatever the last run did not skip."""
    if not config.getoption(OPTION):
        return
    skipped = set(_recorded(config) or [])
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        # A module skipped as a whole is recorded by its own name.
        module = item.nodeid.partition("::")[0]
        was_skipped = not skipped.isdisjoint((item.nodeid, module))
        if was_skipped:
            kept.append(item)
        else:
            left_out.append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def record(config: pytest.Config, names: list[str]) -> None:
    """Remember what a run skipped; one of a part, or one that only collects, leaves the record as it is."""
    cache = _cache(config)
    is_part = config.getoption(OPTION) or config.getoption("lf", default=False)
    if cache is None or is_part or config.option.collectonly:
        return
    cache.set(RECORD, sorted(set(names)))


def _recorded(config: pytest.Config) -> list[str] | None:
    cache = _cache(config)
    return None if cache is None else cache.get(RECORD, None)


def _cache(config: pytest.Config) -> pytest.Cache | None:
    """There is none with `-p no:cacheprovider`."""
    return getattr(config, "cache", None)
