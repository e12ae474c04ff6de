"""Pages about measurements: one HTML file without script, with charts as SVG.

The charts know no recording: they are given traces, bands and flags. Start with `recording_page`.
"""
