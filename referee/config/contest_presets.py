"""Rules by name, each a set of values for contest.toml, for whoever begins with a known form of contest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from lpirc_testsets.close_names import did_you_mean
from referee.config import ContestConfig
from referee.config.contest_text import ATTEMPTS, LEAST_MAP
from referee.config.rule_table import USUAL, RuleTable
from referee.config.toml_edits import Setting
from referee.errors import RefereeError

_SAFE: Mapping[str, object] = {
    "window_s": 600,
    "metric": "lpirc",
    "attempts": ATTEMPTS,
    "least_map": LEAST_MAP,
    "shuffle": True,
    "auto_arm": False,
    "live_score": True,
    "teams_see_score": False,
    "public_score": False,
    "count_unserved": False,
    "publish_by": 0,
}


@dataclass(frozen=True)
class Preset:
    """Rules with a name; `about` says in one sentence what they are for."""

    name: str
    title: str
    about: str
    values: Mapping[str, object]

    def settings(self, config: ContestConfig) -> list[Setting]:
        """Return the settings in which these rules differ from a configuration."""
        differing = [
            Setting(key, value)
            for key, value in self.values.items()
            if getattr(config, key) != value
        ]
        return [*differing, *_rule_settings(config.rule)]


def _rule_settings(rule: RuleTable) -> Iterator[Setting]:
    """Yield the settings that put the usual rule back, mAP / Wh, if the contest has another one."""
    for one in fields(rule):
        wanted = getattr(USUAL, one.name)
        if getattr(rule, one.name) != wanted:
            yield Setting(one.name, wanted, "rule")


PRESETS = (
    Preset(
        "contest",
        "Contest",
        "What doctor advises: one attempt, secret image order, no score shown before the end, guesses not ranked.",
        _SAFE,
    ),
    Preset(
        "lpirc",
        "As LPIRC 2015-2019",
        "The same, with the metric of those contests (ilsvrc-det) and their ten minutes.",
        {**_SAFE, "metric": "ilsvrc-det"},
    ),
    Preset(
        "jury",
        "Contest with a jury of two",
        "The same as Contest; a result is public once one person confirmed and another published it.",
        {**_SAFE, "publish_by": 2},
    ),
    Preset(
        "rehearsal",
        "Rehearsal",
        "Teams try their systems: any number of attempts, armed by the log-in, with the score shown to the team.",
        {
            **_SAFE,
            "attempts": 0,
            "least_map": None,
            "auto_arm": True,
            "teams_see_score": True,
        },
    ),
)


def preset_named(name: str) -> Preset:
    """Return the preset of that name. Raises RefereeError `bad-request`."""
    for one in PRESETS:
        if one.name == name:
            return one
    names = [one.name for one in PRESETS]
    meant = did_you_mean(name, names)
    sentence = f"There are no rules {name!r}; choose one of {', '.join(names)}.{meant}"
    raise RefereeError("bad-request", sentence)
