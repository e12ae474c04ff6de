"""A contest folder in one file: the file format (`backup_file`), what is saved and how it is restored (`contest_copy`).

Start with `contest_copy`. This package knows nothing of HTTP or users.
"""
