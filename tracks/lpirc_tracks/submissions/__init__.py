"""Submissions: a model that a team hands in is run by the device harness and ranked on a board.

Start with `submitting`. `lpirc_tracks` decides what a run is worth. Knows nothing of HTTP and the command line.
"""
