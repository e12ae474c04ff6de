"""The journal of a contest: a second copy of everything acknowledged, on its own disk or another host's.

`epochs` says which host may write; `beats` that its server lives; `disk` keeps a disk that hangs from hanging a server.
"""
