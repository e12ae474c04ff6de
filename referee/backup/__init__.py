"""A contest folder in one file: its form (`archive`), what goes in and how it is put back (`contest_copy`)."""
