"""A truth from outside: head 5 of layer 10 of RXNMapper's model knows which atom became which."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .loaders import installed
from .runs import MAPPED_REACTIONS, Recorded, grid, record_texts
from .smiles import atom_numbers, atoms, reaction_tokens, without_numbers

LAYER, HEAD = 10, 5  # counted from 0; the choice of RXNMapper's authors


@pytest.fixture
def measure_atoms(measure: Callable[[str, str, str], None]) -> Callable[[str, str], None]:
    return lambda what, figure: measure("rxnmapper atoms", what, figure)


@pytest.mark.parametrize(("mapped", "count"), list(zip(MAPPED_REACTIONS, (11, 20), strict=True)))
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_every_product_atom_points_to_its_published_partner(
    mapped: str, count: int, attention: str, measure_atoms: Callable[[str, str], None]
) -> None:
    if not installed("rxnmapper"):
        pytest.skip("the package with rxnmapper is not installed")
    run: Recorded = record_texts("rxnmapper", attention, "float32", (without_numbers(mapped),))
    weights = grid(run.recording.site(LAYER))[HEAD]
    reactants, products = atoms(reaction_tokens(without_numbers(mapped)))
    numbers = atom_numbers(mapped)
    partners = {p: max(reactants, key=lambda r: float(weights[p, r] + weights[r, p])) for p in products}
    right = [p for p in products if numbers[partners[p]] == numbers[p]]
    direct = [float(weights[p, partners[p]]) for p in products]
    measure_atoms(
        f"of {count} ({attention})", f"{len(right)} right, weights {min(direct):.2f} to {max(direct):.2f}"
    )
    assert len(products) == count
    assert right == products


def test_a_mapped_reaction_is_read_as_tokens_and_atom_numbers() -> None:
    mapped = "[CH3:1][OH:2].[K+]>>[CH3:1]Cl"
    assert without_numbers(mapped) == "CO.[K+]>>CCl"
    assert reaction_tokens(without_numbers(mapped)) == [
        "[CLS]",
        "C",
        "O",
        ".",
        "[K+]",
        ">>",
        "C",
        "Cl",
        "[SEP]",
    ]
    assert atom_numbers(mapped) == {1: 1, 2: 2, 6: 1}
    assert atoms(reaction_tokens("CO.[K+]>>CCl")) == ([1, 2, 4], [6, 7])
