"""A link that plays a conversation: it fails on a message that is wrong, missing or left over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lpirc_power.errors import MeterLost, MeterTimeout
from tests.power.wt300.conversations.conversation import Exchange


class ScriptedLink:
    """Stands in for lpirc_power.visa.link.Link."""

    def __init__(self) -> None:
        self.address = "SCRIPTED"
        self._expected: Iterator[Exchange] = iter(())

    def expect(self, exchanges: Sequence[Exchange]) -> None:
        """Start the part of the script that belongs to the next step."""
        self.finish()
        self._expected = iter(exchanges)

    def finish(self) -> None:
        """Fail if something in the script was never sent."""
        left = next(self._expected, None)
        assert left is None, f"never sent: {left.message!r}"  # type: ignore[union-attr]

    def write(
        self,
        message: str,
    ) -> None:
        assert self._next(message).answer is None, (
            f"{message!r} asks, and nobody reads the answer"
        )

    def query(
        self,
        message: str,
        timeout_ms: int | None = None,
    ) -> str:
        exchange = self._next(message)
        if exchange.failure is not None:
            failed = MeterLost if exchange.failure == MeterLost.CODE else MeterTimeout
            raise failed(f"no answer to {message!r}")
        answer = exchange.answer
        assert answer is not None, f"{message!r} has no answer"
        return answer

    def close(self) -> None: ...

    def _next(
        self,
        message: str,
    ) -> Exchange:
        expected = next(self._expected, None)
        assert expected is not None, f"left over: {message!r}"
        assert message == expected.message, (
            f"{message!r} instead of {expected.message!r}"
        )
        return expected
