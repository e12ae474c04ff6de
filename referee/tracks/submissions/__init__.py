"""Submissions: from a model that a team hands in, over the device harness, to its rank on a board.

Start with `submitting`. What a run is worth is decided in `referee.tracks`; HTTP and the command line are unknown here.
"""
