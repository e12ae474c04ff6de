"""The contest's rules, which the first link of a run's chain covers from its arming on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from lpirc_power.meter_standing import OFFICIAL_MAKERS


@dataclass(frozen=True)
class Rules:
    """The rules that decide a run's figures and rank; docs/bundle.md describes each of them.

    `window_s` is the contest's window and `extra_s` the operator's extension for this run, in seconds. Each of `prizes`
    has a name and a rule. `setup` is the value of `Setup.stated` for the run's meter. `official_makers` are the makers
    whose meters count; None if an earlier version armed the run: then only those of YOKOGAWA count. `task` is None for
    boxes; for any other task, `metric` is its name, too.
    `rule` is what the run is ranked by, with its settings; None: accuracy over energy, as in earlier versions.
    """

    attempts: int
    count_unserved: bool
    extra_s: int
    least_map: float | None
    metric: str
    metric_version: int
    per_attempt: int
    prizes: tuple[Mapping[str, str], ...]
    setup: Mapping[str, object]
    testset_digest: str
    window_s: int
    official_makers: tuple[str, ...] | None = None
    task: str | None = None
    rule: Mapping[str, object] | None = None

    @property
    def makers(self) -> tuple[str, ...]:
        """The makers whose meters count."""
        return self.official_makers or OFFICIAL_MAKERS

    @property
    def stated(self) -> dict[str, Any]:
        """The fields that are hashed: only those that existed in the version that armed the run."""
        values = asdict(self)
        if self.official_makers is None:
            del values["official_makers"]
        if self.task is None:
            del values["task"]
        if self.rule is None:
            del values["rule"]
        return values

    @property
    def text(self) -> str:
        """The rules as canonical JSON, the text that is stored and hashed."""
        return json.dumps(self.stated, sort_keys=True, separators=(",", ":"))

    @property
    def sha256(self) -> str:
        """SHA-256 of the text, hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def differences(self, bound: Rules) -> tuple[str, ...]:
        """Return the rules that differ from `bound`, each worded like `metric coco instead of the bound lpirc`."""
        return tuple(
            f"{one.name} {_shown(getattr(self, one.name))} instead of the run's {_shown(getattr(bound, one.name))}"
            for one in fields(self)
            if getattr(self, one.name) != getattr(bound, one.name)
        )


def rules_of(values: Mapping[str, Any]) -> Rules:
    """Build the rules from their JSON object. Raises TypeError or KeyError if the object is not valid."""
    given = dict(values) | {"prizes": tuple(values["prizes"])}
    if "official_makers" in given:
        given["official_makers"] = tuple(given["official_makers"])
    return Rules(**given)


def read_rules(text: str | None) -> Rules | None:
    """Parse the rules from their JSON text; return None for None, which means that no rules are bound."""
    return None if text is None else rules_of(json.loads(text))


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
