"""The contestant's side of the LPIRC referee: fetches test images, posts detections, times models.

Start with `cli`, then `commands` for what `run` and `replay` do, `run` for the loop and `session` for HTTP.
`harness` and `sample_detector` stand apart and need extras; everything else needs only requests.
"""
