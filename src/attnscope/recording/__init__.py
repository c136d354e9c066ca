"""What was recorded: runs, sites, any block of their weights, any cell's arithmetic, and files on disk."""

from __future__ import annotations

from attnscope.recording.cell import Cell
from attnscope.recording.places import Places
from attnscope.recording.reading import Fault, Verified, load, verify
from attnscope.recording.recording import NotShown, Recording, Run
from attnscope.recording.site import Site

__all__ = ["Cell", "Fault", "NotShown", "Places", "Recording", "Run", "Site", "Verified", "load", "verify"]
