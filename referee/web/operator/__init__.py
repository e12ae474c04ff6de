"""The operator's routes, which need the operator key: arm, start, close and void runs."""
