"""From an address to a meter: schemes, drivers, the search.

Start with `meter_address`. Knows nothing of recordings.
"""
