"""A simulated WT310 behind a real VXI-11 server."""
