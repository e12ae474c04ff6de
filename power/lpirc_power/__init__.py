"""Power meters: the protocol of a meter and a reading, drivers, sampling, energy, and a simulated WT310.

Knows nothing of HTTP, runs or scoring. Start with `meter` (the protocol) and `meter_address` (from an address to a
meter); `scheme` and `driver_registry` are the seam for meters of other makers.
"""
