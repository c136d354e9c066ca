"""A text recorded: what was read and written has its places, and recording changes no token."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attnscope.errors import ModelError, RecordingError
from attnscope.listen import record
from attnscope.models import (
    Kept,
    Subject,
    Writing,
    axis_of,
    open_model,
    open_recording,
    record_text,
    record_texts,
)
from attnscope.recording import Places, load


def open_quietly(folder: Path) -> Subject:
    return open_model(str(folder))


def test_a_text_is_recorded_with_its_tokens(llama: Path, tmp_path: Path) -> None:
    subject = open_quietly(llama)
    made, encoded = record_text(subject, subject.encode("the light"), path=tmp_path / "look")
    again = load(tmp_path / "look")
    assert [token["text"] for token in again.places["decoder"].tokens] == [t.text for t in encoded.tokens]
    assert again.places["decoder"].generated is None
    assert again.model["label"] == subject.label
    assert torch.equal(again.site(1).weights(2), made.site(1).weights(2))


def test_what_a_model_writes_is_what_it_writes_unwatched(llama: Path) -> None:
    subject = open_quietly(llama)
    encoded = subject.encode("the cat")
    ids = encoded.inputs["input_ids"]
    with torch.no_grad():
        alone = subject.module.generate(ids, max_new_tokens=6, do_sample=False, pad_token_id=0)  # type: ignore[operator]
    recording, written = record_text(subject, encoded, writing=Writing(6))
    assert written.ids == alone[0].tolist()
    assert written.written == len(encoded.ids)
    assert recording.places["decoder"].generated == len(encoded.ids)
    assert recording.places["decoder"].tokens[-1] == written.tokens[-1].to_dict()


def test_draws_follow_the_seed_and_leave_the_global_generator_alone(llama: Path) -> None:
    subject = open_quietly(llama)
    state = torch.random.get_rng_state()
    texts = [
        record_text(subject, subject.encode("the cat"), writing=Writing(8, 1.5, seed))[1].ids
        for seed in (3, 3, 4)
    ]
    assert texts[0] == texts[1] != texts[2]
    assert torch.equal(torch.random.get_rng_state(), state)


def test_our_own_model_writes_first_and_reads_the_whole_in_one_run() -> None:
    subject = open_model("lesson")
    recording, encoded = record_text(subject, subject.encode("ROMEO"), writing=Writing(7, 0.8, 1))
    assert len(recording.runs) == 1
    assert (recording.sites[0].tq, encoded.written) == (12, 5)
    assert recording.places["decoder"].generated == 5


def test_a_target_is_read_by_the_decoder_one_place_late(t5: Path) -> None:
    subject = open_quietly(t5)
    assert subject.writer is not None
    encoded = subject.writer.answered(subject.encode("the cat"), "the light")
    target = subject.codec.encode("the light", target=True).ids
    assert encoded.inputs["decoder_input_ids"][0, 1:].tolist() == target[:-1]
    recording, _ = record_text(subject, encoded)
    assert {(site.stack, site.kind) for site in recording.sites} == {
        ("encoder", "self"),
        ("decoder", "self"),
        ("decoder", "cross"),
    }
    assert recording.places["decoder"].generated is None
    assert len(recording.places["encoder"].tokens) == recording.site(0, stack="encoder").tk


def test_layers_heads_and_what_is_kept_are_those_asked_for(llama: Path) -> None:
    subject = open_quietly(llama)
    kept = Kept(layers=[1], heads=[0, 3], keep="qk")
    recording, _ = record_text(subject, subject.encode("the light"), kept=kept)
    assert [(site.layer, site.kept, site.keep) for site in recording.sites] == [(1, (0, 3), "qk")]


def test_what_does_not_write_says_so(bert: Path) -> None:
    subject = open_quietly(bert)
    with pytest.raises(ModelError, match="tiny-bert does not write"):
        record_text(subject, subject.encode("the cat"), writing=Writing(3))


@pytest.mark.parametrize(
    ("length", "temperature", "seed", "said"),
    [
        (0, 0.0, 0, "A length of 0 tokens"),
        (3, -1.0, 0, "A temperature of -1.0"),
        (3, float("nan"), 0, "A temperature of nan"),
        (3, 1.0, -1, "A seed of -1"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(length: int, temperature: float, seed: int, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        Writing(length, temperature, seed)


def test_more_than_fits_is_refused_before_anything_runs(llama: Path) -> None:
    subject = open_quietly(llama)
    with pytest.raises(ModelError, match=r"2 tokens and 47 to write are 49\..* at most 48 tokens") as refused:
        record_text(subject, subject.encode("the cat"), writing=Writing(47))
    assert refused.value.hint == "It can write 46"


def test_a_chat_is_read_in_the_template_of_its_tokeniser(llama: Path) -> None:
    subject = open_quietly(llama)
    message = [{"role": "user", "content": "what light"}]
    with pytest.raises(ModelError, match="has no chat template"):
        subject.codec.chat(message)
    subject.codec._tokenizer.chat_template = (  # type: ignore[attr-defined]
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}it: {% endif %}"
    )
    encoded = subject.codec.chat(message)
    assert "".join(token.text for token in encoded.tokens) == "user: what light\nit: "
    subject.codec._tokenizer.chat_template = "{{ raise_exception('no system here') }}"  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match="no system here"):
        subject.codec.chat(message)


@pytest.mark.parametrize("which", ["llama", "t5", "bert"])
def test_many_texts_are_runs_of_one_recording_each_as_it_is_alone(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    subject = open_quietly(request.getfixturevalue(which))
    texts = ["the cat sat on the mat", "light"]
    where = tmp_path / "many"
    made, read = record_texts(subject, [subject.encode(text) for text in texts], path=where)
    again = load(where)
    assert len(made.runs) == len(again.runs) == 2 and again.places == {}
    for run, text, encoded in zip(again.runs, texts, read, strict=True):
        alone, _ = record_text(subject, subject.encode(text))
        for site, other in zip(run.sites, alone.runs[0].sites, strict=True):
            assert torch.equal(site.weights(0), other.weights(0))
            for side in ("rows", "columns"):
                assert axis_of(again, site, side).tokens == axis_of(alone, other, side).tokens
        assert run.places[0][run.sites[0].stack].tokens[0] == encoded.tokens[0].to_dict()
    looks = open_recording(where, name="many")
    assert [look.text for look in looks] == texts[::-1]  # the last run first


def test_many_texts_are_written_on_one_by_one(llama: Path) -> None:
    subject = open_quietly(llama)
    recording, read = record_texts(
        subject, [subject.encode("the cat"), subject.encode("the")], writing=Writing(3)
    )
    assert [run.places[0]["decoder"].generated for run in recording.runs] == [
        len(subject.encode("the cat").ids),
        1,
    ]
    assert [one.written for one in read] == [run.places[0]["decoder"].generated for run in recording.runs]


def test_texts_of_a_batch_have_places_of_their_own(llama: Path, tmp_path: Path) -> None:
    subject = open_quietly(llama)
    read = [subject.encode("the light"), subject.encode("the cat sat")]
    size = max(len(one.ids) for one in read)
    ids = torch.tensor([[0] * (size - len(one.ids)) + one.ids for one in read])
    with torch.no_grad(), record(subject.module) as recording:
        subject.module(input_ids=ids, attention_mask=ids.ne(0).long())
        pad = subject.codec.token(0).to_dict()
        recording.runs[0].places = [
            {"decoder": Places((pad,) * (size - len(one.ids)) + tuple(t.to_dict() for t in one.tokens))}
            for one in read
        ]
    again = load(recording.save(tmp_path / "batch"))
    for batch, one in enumerate(read):
        tokens = axis_of(again, again.sites[0], "rows", batch=batch).tokens
        assert [token["text"] for token in tokens][-len(one.ids) :] == [token.text for token in one.tokens]


def test_a_picture_has_no_place_among_those_of_a_run(llama: Path, tmp_path: Path) -> None:
    subject = open_quietly(llama)
    recording, _ = record_texts(subject, [subject.encode("the light")])
    picture = b"\x89PNG\r\n\x1a\n"
    recording.runs[0].places = [{"decoder": Places([{"text": "a"}], picture=picture, grid=(1, 1))}]
    with pytest.raises(RecordingError, match=r"The places of run 0 have a picture\. A picture in recording"):
        recording.save(tmp_path / "x")
