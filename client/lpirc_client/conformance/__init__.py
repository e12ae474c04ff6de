"""Checks that a referee or a client keeps to docs/http.md.

`referee_checks` checks a referee; `client_rules` judges a client observed by `proxy`. Both are for people who write
their own referee or client. Start with `conformance_command`.
"""
