"""Suites of many (model, implementation) tests: their plan, and the tables they write and are scored from."""
