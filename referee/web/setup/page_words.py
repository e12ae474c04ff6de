"""Findings in the words of the pages: what to do names a field of a page, not a key of contest.toml or a command."""

from __future__ import annotations

import re

from referee.seams import Finding

KEY = re.compile(r"^\w+ (?:= [\w.]+|is not set): ")
ADVICE = {
    "attempts-unlimited": "Set “Attempts of each team” to 1; the console can still arm one more, on record.",
    "images-repeated": "Set “Attempts of each team” to 1, or choose fewer “Images of a run”.",
    "least-map-missing": "Set “Least accuracy that is ranked” to 0.01 or more.",
    "least-map-unreachable": "Write 0.01 for 1 %.",
    "tenth-without-accuracy": "Set “Least accuracy that is ranked”, and let a run have so many images that the best "
    "board takes 30 J or more.",
    "window-below-speed": "Set a longer “Window”, or fewer “Images of a run”.",
    "backup-missing": "Fill in “Folder for backups”, best on another disk.",
    "score-seen-by-team": "Untick “The team sees its provisional score” if you do not want that.",
    "score-of-few-images": "Untick “The team sees its provisional score” and “Everyone sees the provisional score”.",
    "score-public": "Untick “Everyone sees the provisional score” unless the hall should see it.",
    "unserved-counted": "Untick “Images that were not served count, too”.",
    "order-known": "Tick “Each run sees the images in its own secret order”.",
    "arms-by-itself": "Untick “A team's log-in arms its run” for a contest.",
    "unguarded": "Put nginx before the referee and fill in “Trusted proxies” (Hall), and let only the boards log in by "
    "“Addresses of its board” (Stations).",
}
CAUSES = {
    "unguarded": "No proxy limits the connections of an address, so on an open network some 16,000 incomplete requests "
    "keep everyone out for 75 s.",
}
REMEDY = re.compile(r"; (?:write|name|put) |, write ")


def in_page_words(finding: Finding) -> Finding:
    """Return a finding with a remedy on the pages; one whose remedy is elsewhere stays as it is."""
    advice = ADVICE.get(finding.code)
    if advice is None:
        return finding
    cause = CAUSES.get(finding.code)
    if cause is None:
        said = REMEDY.split(KEY.sub("", finding.sentence))[0].rstrip(".")
        cause = f"{said[:1].upper()}{said[1:]}."
    return finding._replace(sentence=f"{cause} {advice}")
