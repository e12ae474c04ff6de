"""The journal of a contest: a second copy of every acknowledged write, on another disk or host.

`epochs` decides which host may write, `beats` shows that its server is alive, and `disk` keeps a disk that hangs from
hanging the server.
"""
