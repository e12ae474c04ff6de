"""Several contests as one season, ranked on one board; their folders and bundles are only read.

Start with `season_board`; `corrected_truth` scores the runs again by a corrected ground truth. This package computes no
figures of its own and knows nothing of HTTP.
"""
