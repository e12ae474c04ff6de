"""Links to meters over VISA, and their failures in one sentence each. The only importer of pyvisa.

Knows nothing of commands: those are a driver's. Start with `link`.
"""
