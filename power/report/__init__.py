"""What the command `meter` prints about meters and recordings: facts for machines, lines for people."""
