"""Whether both ends keep to docs/http.md: `checks` asks a referee, `rules` judges a client that `proxy` listens to.

Start with `command`. It knows nothing of this client's own sessions: it is for those who write an end of their own.
"""
