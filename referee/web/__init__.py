"""The referee over HTTP. Start reading at `app`.

This file imports nothing, because the server's helper processes need little of the package.
"""
