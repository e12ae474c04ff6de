"""The states of a run: armed, open, closed, void; its window, its meter and its records.

Start with `run_control`, the only writer of a run's state. Readings go through `station_meters` and `run_recorder`;
`run_recovery` resumes the runs of an earlier process. `run_window` and `image_order` are pure. Knows nothing of HTTP or
scoring.
"""
