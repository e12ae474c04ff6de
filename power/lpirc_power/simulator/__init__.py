"""A simulated WT300 behind real VXI-11, in a process of its own, with loads and faults.

Must not know the driver: each is a check on the other. Start with `instrument` (messages) and `vxi11` (the server).
"""
