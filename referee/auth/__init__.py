"""Authentication: team passwords, session tokens, and the client addresses that a station accepts.

Knows nothing of HTTP, SQL or runs.
"""
