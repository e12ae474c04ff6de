"""Meters for rehearsing at home: the counters and sensors that a computer has, and recordings of a real meter."""
