"""A run's life: armed, open, closed, void; its window, its meter and what is recorded of it.

Start with `run_control`, the only writer of a run's state. `station_meters` and `run_recorder` are the way of a
reading, `run_recovery` takes up what an earlier process left. `run_window` and `image_order` are pure. Knows nothing
of HTTP or scoring.
"""
