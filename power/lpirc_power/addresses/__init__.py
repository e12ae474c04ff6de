"""From an address to a meter: schemes, drivers, the search."""
