"""HTTP version 1, for contestants' systems: session, images, detections, entries, and the devices' jobs.

docs/http.md is its contract. Start with `session_routes`; images and detections are reached through `web.gateway`.
"""
