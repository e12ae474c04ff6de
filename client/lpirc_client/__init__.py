"""The contestant's side of the LPIRC referee: fetches test images, posts detections, times models.

Start with `session`, a run as a program sees it, with `feed` and `outbox` beside it and `connection` for HTTP; or with
`cli`, then `commands` for what `run` and `replay` do, and `run` for the loop.
`harness` and `sample_detector` stand apart and need extras; everything else needs only requests.
"""
