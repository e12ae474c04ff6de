"""Reports on meters and recordings that the commands print: facts for machines, lines for people.

Prints nothing itself and reads no meter. Start with `reading_facts`.
"""
