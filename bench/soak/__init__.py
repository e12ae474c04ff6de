"""Real processes for an hour with faults: what was acknowledged is there once, windows and energies are right.

`__main__` starts it, `site` has the processes, `faults` what happens to them, `client` is a team with a record of its
answers, `reckoning` compares that record with the contest folder, `report` makes the tables.

`--day last` is a season's last day: `last_day` lets it pass, `hosts` has its processes, `entrant` is a team that hands
in a model, `entry_reckoning` compares.
"""
