"""A run's life: armed, open, closed, void; its window, its meter and what is recorded of it.

Start with `control`, the only writer of a run's state. `window` and `image_order` are pure. Knows nothing of HTTP, and
nothing of how a run is scored.
"""
