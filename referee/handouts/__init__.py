"""What a hall without internet needs, handed out by the referee: its documents, and the client's files.

The documents are in the folder `referee/documents`, the client's files are made from the distribution that is
installed. Knows nothing of HTTP or contests. Start with `client_files` and `documents`.
"""
