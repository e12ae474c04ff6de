"""Reports on meters and recordings, printed by the commands: facts for machines, lines for people.

Prints nothing itself and reads no meter. Start with `reading_facts`.
"""
