from __future__ import annotations

from lpirc_power.sampling.outages import Outages


def test_the_first_losses_are_told_whole_and_later_ones_in_one_line_with_their_count() -> (
    None
):
    outages = Outages()
    lines = []
    for number in range(4):
        began_s = 10.0 * number
        lines += [outages.lost("Lost.", began_s), outages.lost("Lost.", began_s + 0.5)]
        lines += [
            outages.back("Back.", began_s + 1),
            outages.back("Back.", began_s + 2),
        ]
    assert [line for line in lines if line] == [
        "Lost.",
        "Back.",
        "Lost. This is loss 2 of the link.",
        "Back.",
        "Lost. This is loss 3 of the link.",
        "Lost. This is loss 4 of the link.",
    ]


def test_the_end_of_a_long_outage_is_always_told() -> None:
    outages = Outages()
    for number in range(5):
        outages.lost("Lost.", 100.0 * number)
        back = outages.back("Back.", 100.0 * number + 20)
    assert back == "Back."
