"""Power meters: the meter protocol and its readings, drivers, sampling, energy, and a simulated WT310.

Knows nothing of HTTP, runs or scoring. Start with `meter` (the protocol) and `meter_address` (opens the meter at an
address). `scheme` and `driver_registry` are the extension points for meters of other makers.
"""
