"""On PYTHONPATH of the servers that are soaked: lets their wall clock be wrong.

Python imports its `sitecustomize` by itself.
"""
