"""Marks of a workload: sent, received, listed."""
