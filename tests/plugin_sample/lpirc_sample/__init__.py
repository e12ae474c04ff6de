"""One plug-in for each seam."""
