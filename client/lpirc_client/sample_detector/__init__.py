"""The sample detector, which finds the coloured shapes of the synthetic test set; it needs the extra "detector".

It knows nothing of the referee and of the run. Start with `detector`.
"""
