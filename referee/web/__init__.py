"""The referee over HTTP."""

from referee.web.app import create_app

__all__ = ["create_app"]
