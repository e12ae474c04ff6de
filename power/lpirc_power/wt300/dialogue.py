"""Dialogue with a meter of the WT300 family: queries at the meter's own pace, settings made and read back."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterAnswerError, MeterRefused, MeterTimeout
from lpirc_power.meter import VisaLink
from lpirc_power.wt300 import answers
from lpirc_power.wt300.run_settings import OPTIONAL
from lpirc_power.wt300.setting_commands import Setting

SLOWER: Final = 2.0
"""Multiple of the usual answer time to wait before the next message, which would discard the answer."""
TIMED_ANSWERS: Final = 5
QUESTIONS_A_MESSAGE: Final = 16
LONGEST_MESSAGE: Final = 250
"""Longest message in characters: some meters have an input buffer of 256, including two for the terminator."""
OPTIONAL_TIMEOUT_MS: Final = 500
UNKNOWN_HEADER: Final = "113"


class Dialogue:
    """Messages to and from a meter, and its usual pace. A slow meter needs its time per message, not per query."""

    def __init__(self, link: VisaLink, clocks: Clocks) -> None:
        self._link = link
        self._clocks = clocks
        self._took_s: deque[float] = deque(maxlen=TIMED_ANSWERS)
        self._known: dict[str, bool] = {}

    def query(self, message: str, timeout_ms: int | None = None) -> str:
        """Send a message and return its answer."""
        asked_s = self._clocks.monotonic()
        answer = self._link.query(message, timeout_ms)
        self._took_s.append(self._clocks.monotonic() - asked_s)
        return answer

    def query_early(self, message: str, timeout_ms: int) -> str:
        """Send a query that may get no answer: wait for `timeout_ms`, or longer if the meter is usually slow."""
        usual_s = statistics.median(self._took_s) if self._took_s else 0.0
        return self.query(message, max(timeout_ms, round(SLOWER * usual_s * 1000)))

    def ask(self, query: str) -> str:
        """Return the answer to one query, without its header."""
        return answers.data(self.query(query))

    def ask_all(self, queries: Sequence[str]) -> list[str]:
        """Return the answers to several queries, sent in few messages, each without its header."""
        found: list[str] = []
        for group in _messages(queries):
            try:
                joined = answers.parts(self.query(";".join(group)))
            except MeterTimeout:  # it may take only short messages
                joined = []
                self.errors()  # such as 420, of this question only
            found += joined if len(joined) == len(group) else map(self.ask, group)
        return found

    def knows(self, header: str) -> bool:
        """Return True if the meter has a setting. For an optional setting, the meter must answer ON or OFF."""
        if header in OPTIONAL and header not in self._known:
            self._known[header] = self._says_on_or_off(header)
        return self._known.get(header, True)

    def apply(self, setting: Setting) -> None:
        """Make a setting and read it back; MeterError `meter-refused` if the meter does not accept it."""
        self._link.write(setting.command)
        answer = self.ask(setting.query)
        if setting.contradicts(answer):
            raise self.refused(setting.command, answer)

    def apply_all(self, settings: Sequence[Setting], failure: str = "") -> None:
        """Make settings, then read them back.

        Raises `meter-refused`, prefixed by `failure`, with the refused settings.
        """
        for setting in settings:
            self._link.write(setting.command)
        found = self.ask_all([setting.query for setting in settings])
        refused: list[str] = []
        for setting, answer in zip(settings, found, strict=True):
            try:
                if setting.contradicts(answer):  # once more, alone
                    self.apply(setting)
            except MeterRefused as error:
                refused.append(error.sentence)
        if refused:
            raise MeterRefused(failure + " ".join(refused))

    def refused(self, command: str, answer: str) -> MeterRefused:
        """Return the error for a command that was not carried out, with the meter's own reasons."""
        why = "; ".join(self.errors()) or "it gives no reason"
        return MeterRefused(
            f"The meter does not accept {command} (it answers {answer}): {why}."
        )

    def errors(self) -> tuple[str, ...]:
        """Return the meter's queued errors; this empties the queue."""
        return answers.queued_errors(lambda: self.query(":STATUS:ERROR?"))

    def _says_on_or_off(self, header: str) -> bool:
        try:
            answers.boolean(self.query_early(f"{header}?", OPTIONAL_TIMEOUT_MS))
        except MeterAnswerError:
            return False  # an answer per element, as larger meters give, could not be restored as it came
        except MeterTimeout:
            if any(error.startswith(UNKNOWN_HEADER) for error in self.errors()):
                return False
            raise
        return True


def _messages(queries: Sequence[str]) -> Iterator[list[str]]:
    """Yield the queries in groups, each short enough for one message to a meter with a small buffer."""
    group: list[str] = []
    for query in queries:
        longer = ";".join((*group, query))
        if group and (
            len(group) == QUESTIONS_A_MESSAGE or len(longer) > LONGEST_MESSAGE
        ):
            yield group
            group = []
        group.append(query)
    if group:
        yield group
