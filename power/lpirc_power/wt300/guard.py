"""Guards an integration in a WT300 meter: latches events and locks the keys.

A meter without these functions is still used, and the log says what is not guarded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from lpirc_power.errors import MeterRefused, MeterTimeout
from lpirc_power.meter import Identity
from lpirc_power.wt300.answers import Flags
from lpirc_power.wt300.dialogue import Dialogue
from lpirc_power.wt300.run_settings import PANEL_LOCKS, latches
from lpirc_power.wt300.setting_commands import Setting, Switch

_log: Final = logging.getLogger(__name__)


def latch(
    flags: Flags,
    change: Callable[[Sequence[Setting]], None],
    dialogue: Dialogue,
    identity: Identity,
) -> tuple[Setting, ...]:
    """Make the meter latch events that end or spoil an integration between samples; return the settings made."""
    wanted = latches(flags)
    try:
        change(wanted)
    except (MeterRefused, MeterTimeout) as error:
        dialogue.errors()
        said = "Events between two samples of the meter %s go unnoticed, because it does not latch them: %s"
        _log.warning(said, identity, error.sentence)
        return ()
    return wanted


def lock_panel(dialogue: Dialogue, identity: Identity) -> tuple[Setting, ...]:
    """Lock the panel's keys; return the settings that keep them locked."""
    wanted: tuple[Setting, ...] = ()
    try:
        wanted = tuple(one.to(on=True) for one in _panel_lock(dialogue))
        dialogue.apply_all(wanted)
        why = "" if wanted else "The meter has no command that locks its panel."
    except (MeterRefused, MeterTimeout) as error:
        why = error.sentence
    if why:
        _log.warning("The panel of the meter %s is not locked. %s", identity, why)
        return ()
    return wanted


def has_lock(dialogue: Dialogue) -> bool:
    """Return True if the meter has a command that locks its keys, though it may have refused it."""
    return bool(_panel_lock(dialogue))


def unlock_panel(dialogue: Dialogue) -> bool:
    """Unlock the panel's keys; return False if the meter has no lock, `meter-refused` if they stay locked."""
    freed = [one.to(on=False) for one in reversed(_panel_lock(dialogue))]
    dialogue.apply_all(freed)
    return bool(freed)


def _panel_lock(dialogue: Dialogue) -> tuple[Switch, ...]:
    for lock in PANEL_LOCKS:
        if dialogue.knows(lock[-1].header):
            return lock
    return ()
