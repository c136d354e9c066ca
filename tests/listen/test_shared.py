"""What is changed while somebody holds it is put back with the last who lets go, on any way out."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from attnscope.listen.shared import Shared


class Changed:
    """Two parts of a place, changed one after the other; `fault` is raised between the two."""

    def __init__(self) -> None:
        self.place = SimpleNamespace(one="own", two="own")
        self.fault: BaseException | None = None
        self.there, self.changes = True, 0

    def change(self, undo: ExitStack) -> bool:
        if not self.there:
            return False
        self.changes += 1
        undo.callback(setattr, self.place, "one", self.place.one)
        self.place.one = "ours"
        if self.fault is not None:
            raise self.fault
        undo.callback(setattr, self.place, "two", self.place.two)
        self.place.two = "ours"
        return True

    @property
    def parts(self) -> tuple[str, str]:
        return self.place.one, self.place.two


def test_the_first_changes_and_the_last_puts_back() -> None:
    changed = Changed()
    shared, a, b = Shared(changed.change), object(), object()
    shared.hold(a)
    shared.hold(b)
    assert changed.parts == ("ours", "ours") and changed.changes == 1
    shared.let_go(a)
    assert changed.parts == ("ours", "ours")
    shared.let_go(b)
    assert changed.parts == ("own", "own")
    shared.hold(a)
    assert changed.parts == ("ours", "ours") and changed.changes == 2
    shared.let_go(a)
    assert changed.parts == ("own", "own")


def test_to_let_go_twice_or_of_what_is_not_held_takes_nothing_from_others() -> None:
    changed = Changed()
    shared, a, b, never = Shared(changed.change), object(), object(), object()
    shared.hold(a)
    shared.hold(b)
    for _ in range(3):
        shared.let_go(a)
        shared.let_go(never)
    assert changed.parts == ("ours", "ours")
    shared.let_go(b)
    assert changed.parts == ("own", "own")


@pytest.mark.parametrize("fault", [ValueError(), KeyboardInterrupt()])
def test_a_change_that_fails_leaves_nothing_and_may_be_tried_again(fault: BaseException) -> None:
    changed = Changed()
    shared, a, b = Shared(changed.change), object(), object()
    changed.fault = fault
    with pytest.raises(type(fault)):
        shared.hold(a)
    assert changed.parts == ("own", "own")
    changed.fault = None
    shared.hold(b)
    assert changed.parts == ("ours", "ours")
    shared.let_go(a)
    assert changed.parts == ("ours", "ours")
    shared.let_go(b)
    assert changed.parts == ("own", "own")


def test_what_is_not_there_yet_is_asked_for_by_the_next() -> None:
    changed = Changed()
    shared, a, b = Shared(changed.change), object(), object()
    changed.there = False
    shared.hold(a)
    assert changed.changes == 0
    changed.there = True
    shared.hold(b)
    assert changed.parts == ("ours", "ours")
    shared.let_go(b)
    assert changed.parts == ("ours", "ours")
    shared.let_go(a)
    assert changed.parts == ("own", "own")


def test_one_part_that_cannot_be_put_back_keeps_no_other_from_it() -> None:
    changed = Changed()

    def change(undo: ExitStack) -> bool:
        made = changed.change(undo)
        undo.callback(lambda: 1 // 0)
        return made

    shared, a = Shared(change), object()
    shared.hold(a)
    with pytest.raises(ZeroDivisionError):
        shared.let_go(a)
    assert changed.parts == ("own", "own")
    with pytest.raises(ZeroDivisionError):
        shared.hold(a)
        assert changed.parts == ("ours", "ours")
        shared.let_go(a)


def test_many_threads_at_once_change_it_together() -> None:
    changed = Changed()
    shared, barrier = Shared(changed.change), threading.Barrier(8)
    wrong: list[tuple[str, str]] = []

    def work() -> None:
        barrier.wait(timeout=60)
        for _ in range(200):
            mine = object()
            shared.hold(mine)
            if changed.parts != ("ours", "ours"):
                wrong.append(changed.parts)
            shared.let_go(mine)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and changed.parts == ("own", "own")
