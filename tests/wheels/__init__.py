"""`python -m tests.wheels`, for `make wheels`: builds the six wheels and tries each alone in a fresh environment.

Owns how the wheels are built, what each asks for, and the main job that each does. A wheel's environment is outside of
this checkout and has what the wheel itself asks for and no more, in the locked versions with their hashes: what it
forgets to name is missing there. Start with `__main__`.
"""
