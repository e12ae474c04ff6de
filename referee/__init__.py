"""The contest server and the judge of low-power vision contests.

A room is a folder; docs/architecture.md has the layers. Start with `cli.main` for the commands, `web.app` for HTTP.
"""
