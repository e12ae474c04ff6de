"""A simulated WT310 behind a real VXI-11 server on loopback, run as its own process by `meter simulate`."""
