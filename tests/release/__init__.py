"""`python -m tests.release`, for `make release`: one commit becomes signed files that anybody can build again.

Owns where the version stands, every reason to refuse a release, the files, their bill of materials and their signed
provenance. It knows no registry and publishes nothing. Start with `__main__`; docs/releasing.md has the steps.
"""
