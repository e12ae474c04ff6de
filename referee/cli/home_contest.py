"""The three ways to hold a contest at home, and when to take which."""

WHICH_TO_TAKE = (
    "To look at board and console: demo. To develop a client over days: practice. "
    "To check a client or a meter with one judged run: rehearse."
)
