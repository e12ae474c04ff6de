"""The contest server and the judge of low-power vision contests."""
