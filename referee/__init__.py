"""The contest server and the judge of low-power vision contests.

The packages are layered; docs/architecture.md shows the layers. Start with `cli.main` for the commands, `web.app` for
HTTP.
"""
