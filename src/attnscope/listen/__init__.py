"""Listening to models: what they compute is recorded, and nothing about it changes."""

from __future__ import annotations

from attnscope.listen.record import record

__all__ = ["record"]
