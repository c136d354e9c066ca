"""A recording in one line: brief, safe in HTML, and before anything was recorded too."""

from __future__ import annotations

from collections.abc import Callable

from attnscope.recording import Recording, Run, Site


def test_a_recording_says_what_it_holds(make_site: Callable[..., Site]) -> None:
    sites = [make_site(index=0), make_site("window", index=1)]
    recording = Recording([Run(0, "", sites)], model={"class": "LlamaForCausalLM"})
    wanted = "2 calls of attention, 12 heads, 37 x 37 cells, 2 texts; certificates: 24 passed"
    assert repr(recording) == f"<Recording of LlamaForCausalLM: {wanted}>"


def test_several_runs_and_a_refused_head_are_told(make_site: Callable[..., Site]) -> None:
    refused = make_site(out=make_site().out.flip(2))  # type: ignore[union-attr]
    recording = Recording([Run(0, "", []), Run(1, "", [refused])])
    assert "2 runs, the last of 1 call of attention" in repr(recording)
    assert "certificates: 12 refused" in repr(recording)


def test_an_empty_recording_says_so() -> None:
    assert repr(Recording()) == "<Recording of a model: no attention yet>"


def test_a_name_cannot_leave_its_place_and_is_kept_short() -> None:
    html = Recording(model={"label": "<script>" + "x" * 100})._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html
    assert len(html) < 200
