"""`attnscope record` and `attnscope info`: what is written, what is said of it, and what is refused."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from torch import Tensor

from attnscope.recording import load, room
from attnscope.recording.ondisk import OnDisk

if TYPE_CHECKING:
    from tests.cli.conftest import Said

Say = Callable[..., "Said"]


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders of tiny Hugging Face models."""
    tiny = runpy.run_path(str(Path(__file__).parents[1] / "models" / "tiny.py"))
    at = tmp_path_factory.mktemp("hub")
    names = ("llama", "bert", "t5", "vit", "clip", "whisper")
    return {name: tiny[f"{name}_folder"](at / f"tiny-{name}") for name in names}


def facts(say: Say, *words: object) -> dict[str, Any]:
    said = say(*words, "--json")
    assert said.code == 0, said.err
    found: dict[str, Any] = json.loads(said.out)
    return found


def test_a_text_is_recorded_and_said_to_be(say: Say, folder: Path, tmp_path: Path) -> None:
    said = say("record", folder, "--text", "ROMEO: light", "-o", tmp_path / "look")
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == "small: 12 tokens"
    assert "1 run, 2 calls of attention: 2 decoder self" in said.out
    assert "heads: 6 passed; kept: qkv" in said.out
    assert said.out.splitlines()[-1] == f"To look at it: attnscope app {tmp_path / 'look'}"
    assert load(tmp_path / "look").site(1).tq == 12


def test_what_the_model_writes_is_told_from_what_it_was_given(say: Say, folder: Path, tmp_path: Path) -> None:
    words = ["--text", "ROMEO", "--generate", 6, "--temperature", 1, "--seed", 5, "-o", tmp_path / "look"]
    made = facts(say, "record", folder, *words)
    assert (made["tokens"], made["written"], len(made["text_written"])) == (11, 6, 6)
    again = facts(say, "info", tmp_path / "look")
    decoder = again["places"]["decoder"]
    assert (decoder["positions"], decoder["prompt"], decoder["generated"]) == (11, 5, 6)
    assert again["runs"][0]["sites"][0]["generated"] == 5
    assert "11 positions, 5 given and 6 written by the model" in say("info", tmp_path / "look").out
    assert say("record", folder, *words).out.splitlines()[0] == f"wrote: {made['text_written']!r}"


def test_an_encoder_with_a_decoder_is_recorded_whole(say: Say, hub: dict[str, Path], tmp_path: Path) -> None:
    made = facts(say, "record", hub["t5"], "--text", "the cat", "--target", "a cat", "-o", tmp_path / "look")
    assert made["kinds"] == {"encoder self": 2, "decoder self": 2, "decoder cross": 2}
    assert (made["runs"], made["tokens"], made["written"]) == (1, 3, 0)
    said = say("info", tmp_path / "look").out
    assert "mask: every row sees every key" in said
    assert "mask: a row sees itself and what stands before it" in said


def test_a_chat_with_a_model_that_has_no_template_is_refused(
    say: Say, hub: dict[str, Path], tmp_path: Path
) -> None:
    said = say("record", hub["llama"], "--text", "what", "--chat", "-o", tmp_path / "look")
    assert said.code == 1
    assert said.err.startswith("This model's tokeniser has no chat template.")
    assert not (tmp_path / "look").exists()


def test_a_chat_is_a_message_or_a_list_of_them(say: Say, hub: dict[str, Path], tmp_path: Path) -> None:
    import shutil

    model = Path(shutil.copytree(hub["llama"], tmp_path / "chatty"))
    template = "{% for m in messages %}{{ m.role }}:{{ m.content }} {% endfor %}"
    (model / "chat_template.jinja").write_text(template)
    for at, text in enumerate(["light", '[{"role": "user", "content": "light"}]', "[light"]):
        made = facts(say, "record", model, "--text", text, "--chat", "-o", tmp_path / f"{at}")
        whole = "".join(t["text"] for t in load(tmp_path / f"{at}").places["decoder"].tokens)
        assert whole == f"user:{'[light' if at == 2 else 'light'} "
        assert made["runs"] == 1
    said = say("record", model, "--text", '["light"]', "--chat", "-o", tmp_path / "look")
    assert said.code == 1
    assert said.err.startswith("The JSON list holds what is no message.")


def test_only_what_was_asked_for_is_kept(say: Say, hub: dict[str, Path], tmp_path: Path) -> None:
    words = ["--text", "light", "--layers", "1", "--heads", "0,2-3", "--keep", "summary"]
    facts(say, "record", hub["llama"], *words, "-o", tmp_path / "look")
    (site,) = facts(say, "info", tmp_path / "look")["runs"][0]["sites"]
    assert (site["layer"], site["kept"], site["tensors"], site["keep"]) == (1, [0, 2, 3], [], "summary")
    assert [head["head"] for head in site["certificate"]] == [0, 2, 3]
    said = say("info", tmp_path / "look").out
    assert "heads kept: 0, 2, 3" in said
    assert "sums alone were kept, no weights" in said


def test_info_says_the_worst_figures_and_the_head_they_come_from(
    say: Say, hub: dict[str, Path], tmp_path: Path
) -> None:
    facts(say, "record", hub["llama"], "--text", "the light broke", "-o", tmp_path / "look")
    site = facts(say, "info", tmp_path / "look")["runs"][0]["sites"][1]
    assert [head["key_head"] for head in site["certificate"]] == [0, 0, 1, 1]
    worst = max(site["certificate"], key=lambda head: head["z"])
    line = f"largest z {worst['z']:.2f} of {site['allowed']['z']:g} allowed, in head {worst['head']}"
    said = say("info", tmp_path / "look").out
    assert line in said
    assert "2 query heads share a key head" in said


def test_info_reads_neither_q_nor_k_to_say_that_they_were_kept(
    say: Say, hub: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts(say, "record", hub["llama"], "--text", "light", "--keep", "all", "-o", tmp_path / "look")
    read, fetch = set[str](), OnDisk.fetch

    def noted(shelf: OnDisk, name: str) -> Tensor:
        read.add(name)
        return fetch(shelf, name)

    monkeypatch.setattr(OnDisk, "fetch", noted)
    site = facts(say, "info", tmp_path / "look")["runs"][0]["sites"][0]
    assert site["tensors"] == ["q", "k", "v", "out"]
    assert read and not read & {"q", "k", "v", "out"}


def test_info_names_the_heads_that_failed_with_their_reason(
    say: Say, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from attnscope.core.verdict import Thresholds

    strict = Thresholds(z=0.0, rms=5.0, t=20.0)
    monkeypatch.setattr("attnscope.core.certificate.thresholds_of", lambda route, dtype: strict)
    made = facts(say, "record", folder, "--text", "ROMEO", "-o", tmp_path / "look")
    assert made["verdicts"] == {"refused": 6}
    said = say("info", tmp_path / "look").out
    assert "head 2 refused: row " in said


BAD = [
    (["--generate", "0"], 2, "0 is not in the range x>=1"),
    (["--text", "a", "--layers", "2-x"], 2, "'2-x' is no number"),
    (["--text", "a", "--layers", "3-1"], 2, "'3-1' ends before it begins"),
    (["--text", "a", "--generate", "2", "--target", "b"], 2, "--target and --generate exclude each other"),
    (["--text", "a", "--temperature", "1"], 2, "--temperature goes with --generate"),
    (["--text", "a", "--generate", "2", "--seed", "1"], 2, "--seed goes with a --temperature above 0"),
    (["--text", "a", "--file", "b"], 2, "--text, --file and --texts exclude one another"),
    (["--text", "a", "-o", "there"], 2, "-o was given 2 times; one is wanted"),
    ([], 2, "A text is wanted"),
    (["--text", ""], 1, "The text is empty"),
    (["--text", "✓"], 1, "This model has never seen “✓”"),
    (["--text", "a", "--layers", "7"], 1, "layers= and heads= left them all out"),
    (["--text", "a", "--heads", "5"], 1, "heads 5 were asked for, and it has heads 0 to 2"),
    (["--text", "a", "--target", "b"], 1, "This model has no encoder"),
    (["--text", "a", "--generate", "99"], 1, "1 characters and 99 to write are 100"),
    (["--text", "a", "--chat"], 1, "has no chat template"),
]


@pytest.mark.parametrize(("words", "code", "said"), BAD)
def test_what_cannot_be_recorded_is_refused_in_a_sentence(
    say: Say, folder: Path, tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    answer = say("record", folder, *words, "-o", tmp_path / "look")
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.err
    assert not (tmp_path / "look").exists()


def test_what_was_written_is_told_whole_though_a_character_is_cut_in_pieces(
    say: Say, hub: dict[str, Path], tmp_path: Path
) -> None:
    words = [
        "--text",
        "the light",
        "--generate",
        12,
        "--temperature",
        1,
        "--seed",
        1,
        "-o",
        tmp_path / "look",
    ]
    made = facts(say, "record", hub["llama"], *words)
    tokens = load(tmp_path / "look").places["decoder"].tokens[made["tokens"] - made["written"] :]
    assert any(token["kind"] == "byte" and not token["text"] for token in tokens)
    spelled = b"".join(
        bytes.fromhex("".join(t["bytes"])) if t["bytes"] else t["text"].encode() for t in tokens
    )
    assert made["text_written"] == spelled.decode("utf-8", "replace")
    assert facts(say, "info", tmp_path / "look")["model"]["text"] == "the light" + made["text_written"]


def test_info_says_what_each_text_of_a_batch_sees(say: Say, hub: dict[str, Path], tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    import attnscope as ats

    ids = torch.randint(5, 60, (3, 8), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    model = AutoModelForCausalLM.from_pretrained(hub["llama"])
    with torch.no_grad(), ats.record(model, ids, path=tmp_path / "look"):
        model(ids, attention_mask=mask)
    found = facts(say, "info", tmp_path / "look")
    sights = found["runs"][0]["sites"][0]["sights"]
    assert [one["padding"] for one in sights] == [[], [[0, 3]], []]
    assert (found["texts"], found["tokens"]) == (3, 24)
    said = say("info", tmp_path / "look").out
    assert "tokens: 24 in 3 texts" in said
    assert "mask of texts 0, 2: a row sees itself and what stands before it\n" in said
    assert "mask of text 1: a row sees itself and what stands before it; columns 0 to 2 are padding" in said


@pytest.mark.parametrize(
    ("name", "reads"), [("vit", "pixel_values"), ("clip", "pixel_values"), ("whisper", "input_features")]
)
def test_a_model_of_pictures_or_sound_is_refused_with_what_to_do_in_python(
    say: Say, hub: dict[str, Path], tmp_path: Path, name: str, reads: str
) -> None:
    answer = say("record", hub[name], "--text", "light", "-o", tmp_path / "look")
    assert answer.code == 1
    assert f"holds a {name} model, which reads {reads} and cannot be run on a text alone" in answer.err
    assert f"with attnscope.record(model, path='recording'): model({reads}=…)" in answer.err
    assert not (tmp_path / "look").exists()


def test_a_place_that_cannot_be_written_is_refused_before_the_model_is_opened(
    say: Say, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file" / "look", tmp_path / "file" / "deep" / "look", Path("/proc/look")):
        answer = say("record", "no-such-model", "--text", "light", "-o", place)
        assert answer.code == 1
        assert answer.err.startswith(f"{place} cannot be written: ")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_recording_in_a_models_place_and_a_model_in_a_recordings_say_what_to_type(
    say: Say, folder: Path, tmp_path: Path
) -> None:
    assert say("record", folder, "--text", "ROMEO", "-o", tmp_path / "look").code == 0
    answer = say("record", tmp_path / "look", "--text", "ROMEO", "-o", tmp_path / "other")
    assert answer.code == 1
    assert f"attnscope info {tmp_path / 'look'} and attnscope app {tmp_path / 'look'} read" in answer.err
    answer = say("app", folder, "--no-browser", "--port", "0")
    assert answer.code == 1
    assert answer.err.rstrip().endswith(f"attnscope app --model {folder}.")


def test_only_a_recording_is_replaced(say: Say, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    answer = say("record", folder, "--text", "ROMEO", "-o", tmp_path / "notes")
    assert answer.code == 1
    assert "notes exists and is not a recording" in answer.err
    for text, replaced in (("ROMEO", False), ("light", True)):
        answer = say("record", folder, "--text", text, "-o", tmp_path / "look")
        assert (answer.code, f"{tmp_path / 'look'} holds a recording: it stays" in answer.err) == (
            0,
            replaced,
        )
    assert load(tmp_path / "look").site(0).tq == 5
    answer = say("record", folder, "--text", "ROMEO", "-o", "")
    assert (answer.code, "-o wants the name of a folder" in answer.err) == (2, True)


def test_several_texts_are_runs_of_one_recording(say: Say, folder: Path, tmp_path: Path) -> None:
    said = say("record", folder, "--text", "ROMEO: light", "--text", "so me", "-o", tmp_path / "two")
    assert said.code == 0, said.err
    assert said.out.splitlines()[:2] == [
        "small: 17 tokens in 2 texts", "2 runs, 4 calls of attention: 4 decoder self"
    ]  # fmt: skip
    lines = tmp_path / "texts.txt"
    lines.write_text("ROMEO: light\n\nso me\n", encoding="utf-8")
    made = facts(say, "record", folder, "--texts", lines, "--generate", 2, "-o", tmp_path / "many")
    assert [(one["tokens"], one["written"]) for one in made["texts"]] == [(14, 2), (7, 2)]
    again = load(tmp_path / "many")
    assert [run.places[0]["decoder"].generated for run in again.runs] == [12, 5]
    assert [site.tq for run in again.runs for site in run.sites] == [14, 14, 7, 7]


@pytest.mark.parametrize("words", [["--keep", "summary"], ["--heads", "0,2"], ["--generate", "12"], []])
def test_how_much_it_takes_is_said_before(words: list[str], say: Say, folder: Path, tmp_path: Path) -> None:
    texts = ["--text", "ROMEO: light, the light", "--text", "ROMEO"]
    said = say("record", folder, *texts, *words, "-o", tmp_path / "look")
    about = re.match(r"About ([0-9.]+) KB; ", said.err)
    assert about, said.err
    assert float(about[1]) * 2**10 == pytest.approx(room.taken(tmp_path / "look"), rel=0.07)


def test_texts_that_do_not_go_together_are_refused(say: Say, folder: Path, tmp_path: Path) -> None:
    out = ["-o", tmp_path / "x"]
    said = say("record", folder, "--text", "a", "--texts", "f", *out)
    assert said.code == 2 and "--text, --file and --texts exclude one another." in said.err
    assert say("record", folder, "--text", "a", "--text", "", *out).err.startswith("The text is empty.")
    empty = tmp_path / "none.txt"
    empty.write_text("\n \n", encoding="utf-8")
    assert (
        say("record", folder, "--texts", empty, *out).err
        == f"{empty} holds no text. A text a line is wanted.\n"
    )
    said = say("record", folder, "--text", "a", "--text", "b", "--target", "c", *out)
    assert said.code == 2 and "--target goes with a single text." in said.err
    assert not (tmp_path / "x").exists()
