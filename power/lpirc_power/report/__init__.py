"""What the commands print about meters and recordings: facts for machines, lines for people.

Prints nothing itself and reads no meter. Start with `readings`.
"""
