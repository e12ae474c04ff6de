"""The sample detector: finds the coloured shapes of the synthetic test set in the pixels alone.

Start with `detector`.
"""
