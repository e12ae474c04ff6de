"""The referee over HTTP: start reading at `app`.

Nothing is imported here: the processes beside the server need little of it.
"""
