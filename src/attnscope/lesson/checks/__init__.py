"""What a grid of weights gives away: one module for each kind of mark that a mistake leaves."""

from __future__ import annotations
