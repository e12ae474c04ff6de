"""Pages for everyone: the board at `/`, the boards of tracks, the camera track's display.

Reads what is published, never the store. Start with `board_pages`.
"""
