"""The contestant's side of the LPIRC referee: fetches test images, posts detections, times models.

Start with `session`, which offers a run to programs and uses `feed`, `outbox` and `connection` (HTTP). The command is
in `cli`; `commands` carries out its `run` and `replay`, and `run` holds the loop over the images.
`harness` and `sample_detector` are independent of these and need extras; everything else needs only requests.
"""
