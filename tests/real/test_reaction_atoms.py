"""A truth from outside: head 5 of layer 10 of RXNMapper's model knows which atom became which."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .loaders import installed
from .runs import MAPPED_REACTIONS, Recorded, grid, record_texts
from .smiles import atom_numbers, atoms, reaction_tokens, without_numbers

LAYER, HEAD = 10, 5  # counted from 0; the choice of RXNMapper's authors

REACTIONS = [
    (MAPPED_REACTIONS[0], 11, (0.42, 0.92)),
    (MAPPED_REACTIONS[1], 20, (0.36, 0.90)),
]


@pytest.mark.parametrize(("mapped", "count", "weakest_and_strongest"), REACTIONS)
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_every_product_atom_points_to_its_published_partner(
    mapped: str,
    count: int,
    weakest_and_strongest: tuple[float, float],
    attention: str,
    measure: Callable[[str, str, str], None],
) -> None:
    if not installed("rxnmapper"):
        pytest.skip("the package with rxnmapper is not installed")
    run: Recorded = record_texts("rxnmapper", attention, "float32", (without_numbers(mapped),))
    weights = grid(run.recording.site(LAYER))[HEAD]
    reactants, products = atoms(reaction_tokens(without_numbers(mapped)))
    numbers = atom_numbers(mapped)
    partners = {p: max(reactants, key=lambda r: float(weights[p, r] + weights[r, p])) for p in products}
    right = [p for p in products if numbers.get(partners[p]) == numbers[p]]
    direct = [float(weights[p, partners[p]]) for p in products]
    measure(f"rxnmapper {attention} float32", f"atoms of {count}", f"{len(right)} right")
    assert len(products) == count
    assert right == products
    # The layers share one module and its head 5 maps atoms in many of them; these figures are layer 10's.
    assert (round(min(direct), 2), round(max(direct), 2)) == weakest_and_strongest


def test_a_mapped_reaction_is_read_as_tokens_and_atom_numbers() -> None:
    mapped = "[CH3:1][OH:2].[K+]>>[CH3:1]Cl"
    assert without_numbers(mapped) == "CO.[K+]>>CCl"
    assert " ".join(reaction_tokens("CO.[K+]>>CCl")) == "[CLS] C O . [K+] >> C Cl [SEP]"
    assert atom_numbers(mapped) == {1: 1, 2: 2, 6: 1}
    assert atoms(reaction_tokens("CO.[K+]>>CCl")) == ([1, 2, 4], [6, 7])
