"""The original protocol of 2015 to 2019 on the same runs: docs/legacy.md. Start with `routes`."""
