"""What is wrong with a contest, its meters and this host, and what its settings give away: for `doctor` and the pages.

Each module yields `Finding`s about one subject: `rule_findings`, `meter_findings`, `host_findings`. Knows nothing of
HTTP, and prints nothing.
"""
