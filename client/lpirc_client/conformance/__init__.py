"""Whether both ends keep to docs/http.md: `checks` asks a referee, `rules` judges a client that `proxy` listens to.

It is for those who write an end of their own. Start with `command`.
"""
