"""A contest as a static site that any web server can hold: pages of what is public, signed, replaced as a whole.

It shows only the published document, so a freeze holds here as on the board; reports, bundles and certificates join
it at the end of the contest. Knows nothing of HTTP. Start with `site_publication`.
"""
