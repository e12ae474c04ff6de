"""A meter served to MLPerf Power's harness, in the text protocol of its power daemon; start with `daemon`."""
