"""Real processes for an hour with faults: what was acknowledged is there once, windows and energies are right.

Start in `__main__`. `site` has the processes, `faults` what happens to them, `client` is the team (a process of its own, with
its own record of what it was told), `reckoning` compares that record with the contest folder, `report` makes the table.
"""
