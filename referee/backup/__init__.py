"""A contest folder in one file: its form (`backup_file`), what goes in and how it is put back (`contest_copy`).

Knows nothing of HTTP, nor of who asks. Start with `contest_copy`.
"""
