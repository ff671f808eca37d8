"""Fixtures for every test."""

from support.roots import session_roots

__all__ = ["session_roots"]
