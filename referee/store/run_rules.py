"""Rules of a contest as bound into the first link of a run's chain when the run is armed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from lpirc_power.meter_standing import OFFICIAL_MAKERS


@dataclass(frozen=True)
class Rules:
    """The rules that decide the figures and the rank of a run; docs/bundle.md describes each.

    `window_s` is the contest's window, and `extra_s` the operator's extension of it for this run, in seconds. `prizes`
    have name and rule each; `setup` is `Setup.stated` of the run's meter. `official_makers` are the makers whose meters
    count; None: an earlier version armed the run, for which only those of YOKOGAWA count.
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

    @property
    def makers(self) -> tuple[str, ...]:
        """The makers whose meters count."""
        return self.official_makers or OFFICIAL_MAKERS

    @property
    def stated(self) -> dict[str, Any]:
        """The fields as they are hashed: those of the version that armed the run."""
        values = asdict(self)
        if self.official_makers is None:
            del values["official_makers"]
        return values

    @property
    def text(self) -> str:
        """The canonical JSON, as it is stored and hashed."""
        return json.dumps(self.stated, sort_keys=True, separators=(",", ":"))

    @property
    def sha256(self) -> str:
        """SHA-256 of the text, hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def differences(self, bound: Rules) -> tuple[str, ...]:
        """Return the rules that differ from `bound`, each as `metric coco instead of the bound lpirc`."""
        return tuple(
            f"{one.name} {_shown(getattr(self, one.name))} instead of the bound {_shown(getattr(bound, one.name))}"
            for one in fields(self)
            if getattr(self, one.name) != getattr(bound, one.name)
        )


def rules_of(values: Mapping[str, Any]) -> Rules:
    """Build the rules from their JSON object. Raises TypeError, KeyError if it is not valid."""
    given = dict(values) | {"prizes": tuple(values["prizes"])}
    if "official_makers" in given:
        given["official_makers"] = tuple(given["official_makers"])
    return Rules(**given)


def read_rules(text: str | None) -> Rules | None:
    """Read the rules from their text; None: not bound."""
    return None if text is None else rules_of(json.loads(text))


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
