"""A run's life: armed, open, closed, void; its window, its meter and what is recorded of it.

Start with `control`, the only writer of a run's state; then `meters` and `recorder` for the way of a reading, and
`recovery` for what an earlier process left. `window` and `image_order` are pure. Knows nothing of HTTP or scoring.
"""
