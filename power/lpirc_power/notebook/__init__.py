"""What a notebook or a script uses: a meter, its recordings, their figures and plots. Offered by `lpirc_power` itself.

Start with `open_meter`. A recording is made by `recording_run`, as on the command line; docs/meter-api.md explains
each function.
"""
