"""HTTP version 1 for contestants' systems: session, images, detections, entries, and the jobs of devices.

docs/http.md is the contract. Start with `session_routes`; requests for images and detections come through
`web.gateway`.
"""
