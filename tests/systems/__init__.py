"""`make test-on SUITE=trixie`: what the README tells a newcomer, done on a minimal Debian of that suite.

Owns the other systems: the package mirror, the file systems, the way in. Knows nothing of what is tested there.
Needs only Python, so that it works before `.venv` is built. Start with `__main__.py`.
"""
