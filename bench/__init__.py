"""Speed, measured on this machine: `make bench`. Nothing here is a test; the tables are for people to compare.

Start with `__main__`; servers are driven by their commands and by HTTP alone.
"""
