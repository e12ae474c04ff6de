"""Speed, measured on this machine: `make bench`. Nothing here is a test; the tables are for people to compare."""
