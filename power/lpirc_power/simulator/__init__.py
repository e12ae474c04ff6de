"""A simulated WT300 behind real VXI-11, in a process of its own, with loads and faults.

It must not import the driver, so that each tests the other. Start with `instrument` (messages) and `vxi11` (server).
"""
