"""A meter during a run: connected, sampled in a thread, read at the end, its settings restored.

Start with `sampler`. Knows nothing of how readings are used.
"""
