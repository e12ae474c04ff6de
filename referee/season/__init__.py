"""Many contests as one season: their folders and bundles are read, never written to, and ranked on one board.

Start with `season_board`; `corrected_truth` scores the runs again by a corrected ground truth. It computes no figure of
its own and knows nothing of HTTP.
"""
