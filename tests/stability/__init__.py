"""What docs/stability.md calls public, read from the program, and held against the files that are kept here.

Owns how each surface is read: Python names, commands, HTTP, files and settings, plug-in seams. Each is a list
of lines, one for each thing that somebody may rely on. Start with `test_stability`.
"""
