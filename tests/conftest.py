"""Fixtures for every test."""

from support.roots import session_roots, sidecar_at

__all__ = ["session_roots", "sidecar_at"]
