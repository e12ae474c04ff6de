"""The original protocol of 2015 to 2019, serving the same runs: docs/legacy.md.

Knows nothing of the formats of version 1. Start with `old_routes`; `old_forms` has the texts that old clients expect.
"""
