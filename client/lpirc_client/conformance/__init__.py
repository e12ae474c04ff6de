"""Checks that both ends keep to docs/http.md: `checks` asks a referee, `rules` judges a client behind `proxy`.

It is for those who write an end of their own. Start with `command`.
"""
