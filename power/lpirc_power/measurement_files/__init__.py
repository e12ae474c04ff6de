"""Files of measurements: read back, whoever wrote them, and written for other programs."""
