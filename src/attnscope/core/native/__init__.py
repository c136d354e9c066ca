"""The engine in C++ (native/ of the project), for what it can take: spans, float32, the CPU.

It walks whole panels of keys in registers, and gives the same states as the engine of plain torch, whose
normalisers and its own may stand in for each other.
"""

from __future__ import annotations
