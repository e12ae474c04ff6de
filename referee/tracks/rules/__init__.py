"""The rules, one file each: every module here with a tuple `TRACKS` is part of the registry."""
