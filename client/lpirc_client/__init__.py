"""Sample client of the LPIRC referee: fetches test images, posts detections."""
