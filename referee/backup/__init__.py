"""A contest folder in one file: its format (`backup_file`), its content and its restoration (`contest_copy`).

Knows nothing of HTTP, nor of who asks. Start with `contest_copy`.
"""
