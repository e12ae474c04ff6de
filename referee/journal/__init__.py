"""The journal of a contest: a second copy of every acknowledged write, on another disk or host.

`epochs` decides which host may write, `beats` shows that the server of that host is alive, and `disk` keeps a hanging
disk from blocking the server.
"""
