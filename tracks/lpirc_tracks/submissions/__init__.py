"""Submissions: from a model that a team hands in, over the device harness, to its rank on a board.

Start with `submitting`. `lpirc_tracks` decides what a run is worth. Knows nothing of HTTP and the command line.
"""
