"""Meters for rehearsals at home: counters and sensors of a computer.

None of them is official. Start with `meter`: a sensor, and an integrator in software.
"""
