"""The referee over HTTP. Start reading at `app`.

This file imports nothing, because the processes beside the server need little of the package.
"""
