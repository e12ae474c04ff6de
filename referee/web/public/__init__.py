"""Public pages: the board at `/`, the boards of tracks, and the camera track's display.

They read what is published, never the store. Start with `board_pages`.
"""
