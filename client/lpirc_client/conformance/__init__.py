"""Checks that both ends keep to docs/http.md.

`referee_checks` asks a referee, `client_rules` judges a client behind `proxy`.

It is for those who write an end of their own. Start with `conformance_command`.
"""
