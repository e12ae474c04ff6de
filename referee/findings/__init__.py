"""What is wrong with a contest, its meters and this host: for the command doctor and for pages.

Each module yields findings about one subject: `rule_findings`, `meter_findings`, `host_findings`. Knows nothing of
HTTP, and prints nothing.
"""
