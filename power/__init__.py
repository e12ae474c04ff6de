"""Power meters: driver, sampler, energy, and a simulated WT310; knows nothing of HTTP, runs or scoring."""
