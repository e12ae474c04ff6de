"""Meters for rehearsals at home: energy counters and current sensors of a computer. None of them is official.

Start with `meter`: a sensor, and an integrator in software.
"""
