"""What everyone may see: the board at `/`, the camera track's display. Reads what is published, never the store."""
