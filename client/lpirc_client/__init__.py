"""Sample client of the LPIRC referee."""
