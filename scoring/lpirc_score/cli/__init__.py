"""The command `lpirc-score`: scores detections against a ground truth. Start with `score_command`."""
