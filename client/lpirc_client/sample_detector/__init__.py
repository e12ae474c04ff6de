"""The sample detector, which finds the coloured shapes of the synthetic test set; it needs the extra "detector".

It is independent of the referee and the run. Start with `detector`.
"""
