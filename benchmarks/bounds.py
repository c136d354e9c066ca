"""What a measurement may come to: printed beside what it came to, and remembered where it is past that."""

from __future__ import annotations

MISSED: list[str] = []
"""What was not kept in this process; `python -m benchmarks` exits 1 where there is any."""


def hold(name: str, found: float, limit: float, unit: str = "times") -> bool:
    """Prints a figure with the most that is allowed, and whether it was kept."""
    kept = found <= limit
    print(f"  {name:52s} {found:8.2f} {unit}; at most {limit:g}: {'kept' if kept else 'NOT KEPT'}")
    if not kept:
        MISSED.append(name)
    return kept
