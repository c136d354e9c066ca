"""The mechanism: what happens between q, k, v and the weights, in torch alone.

From the bottom: what a row may see (spans, visible, mask and its kinds in places, given and ids); what makes
a score (bias, arithmetic, scores, scoring), a block of them (tile, mix) and the whole grid, which is the
oracle (dense). Then the walk over tiles and the states it makes (walk, normaliser, rowstats, keystats, top,
distance, probe), the engines behind one seam (seam, tiles, native, engine), and what comes of a walk
(certificate, fold, grids, attention). Imports go that way alone, and pyproject.toml has the order that is
checked. Beside all that stand positions and designed heads.
"""
