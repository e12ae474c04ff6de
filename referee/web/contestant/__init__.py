"""HTTP version 1, for contestants' systems: the session, the images, the detections. Start with `session`."""
