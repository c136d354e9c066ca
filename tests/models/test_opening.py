"""Models by name: what is whole opens and runs, what is not is named with its file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from attnscope.errors import BrokenModel, DtypeError, MissingModel, ModelError
from attnscope.gpt import GPT, CharacterTokenizer, GPTConfig
from attnscope.gpt.store import save_model
from attnscope.models import open_model
from attnscope.models.hub import is_hub_id


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return the folder of a small model of ours."""
    folder = tmp_path / "small"
    save_model(GPT(GPTConfig(5, 16, 2, 2, 16), CharacterTokenizer("\n abc"), seed=1), folder)
    return folder


@pytest.fixture
def copy(llama: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny model to break."""
    return Path(shutil.copytree(llama, tmp_path / "copy"))


def test_a_folder_of_ours_opens(own: Path) -> None:
    subject = open_model(str(own))
    assert subject.description.to_dict() == {
        "id": "small",
        "label": "small",
        "context": 16,
        "unit": "character",
        "layers": 2,
        "heads": 2,
        "kind": "causal",
    }
    look = subject.run("ab c")
    assert [token["text"] for token in look.axis(look.sites[0], "rows").tokens] == list("ab c")
    assert look.bit_equal is True
    assert look.predictions(3, 2).entropy > 0


def test_a_causal_hugging_face_folder_opens(llama: Path) -> None:
    subject = open_model(str(llama))
    assert (subject.kind, subject.unit, subject.predicts) == ("causal", "token", True)
    assert (subject.layers, subject.heads, subject.context) == (2, 4, 48)
    look = subject.run("the light ✓")
    assert look.bit_equal is True
    assert len(look.recording.sites) == 2
    assert look.recording.tokens is not None
    top = look.predictions(0, 3).top
    assert sum(p for _, p in top) <= 1
    with torch.no_grad():
        logits = subject.module(**subject.encode("the light ✓").inputs).logits[0, 0]
    assert top[0][0].id == int(logits.argmax())


def test_a_bidirectional_hugging_face_folder_opens_and_predicts_no_next_token(bert: Path) -> None:
    subject = open_model(str(bert))
    assert (subject.kind, subject.predicts, subject.context) == ("bidirectional", False, 32)
    look = subject.run("the lighter cats")
    assert look.bit_equal is True
    assert look.axis(look.sites[0], "rows").tokens[0]["text"] == "[CLS]"
    assert bool(look.recording.site(0).visible(0).all())
    with pytest.raises(ModelError, match="does not predict a next token"):
        look.predictions(0)


def test_an_encoder_and_decoder_open_whole(t5: Path) -> None:
    subject = open_model(str(t5))
    assert (subject.kind, subject.layers, subject.heads) == ("encoder-decoder", 2, 2)
    assert subject.predicts is True
    look = subject.run("the cat")
    assert look.bit_equal is True
    kinds = [(site.stack, site.kind) for site in look.sites]
    own = [("decoder", "self"), ("decoder", "cross")]
    assert kinds == [("encoder", "self")] * 2 + own * 2
    cross = look.sites[-1]
    rows, columns = (look.axis(cross, side) for side in ("rows", "columns"))
    assert (rows.stack, columns.stack) == ("decoder", "encoder")
    assert [token["text"] for token in columns.tokens] == ["<s>", "the", " cat"]
    assert (len(rows.tokens), rows.generated, columns.generated) == (cross.tq, 1, None)
    assert look.predictions(cross.tq - 1, 2).entropy > 0


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_the_way_of_computing_attention_is_the_one_that_was_asked_for(llama: Path, attention: str) -> None:
    look = open_model(str(llama), attention=attention).run("the light")
    assert look.recording.site(0).route == f"huggingface/{attention}"


def test_our_own_models_compute_attention_in_one_way(own: Path) -> None:
    assert open_model(str(own), attention="sdpa").id == "small"
    with pytest.raises(ModelError, match="small has no attention named 'eager'"):
        open_model(str(own), attention="eager")


def test_our_own_models_run_in_half_precision_too(own: Path) -> None:
    look = open_model(str(own), dtype="bfloat16").run("ab c")
    assert look.recording.site(0).dtype == torch.bfloat16
    assert look.bit_equal is True


def test_a_precision_is_the_one_that_was_asked_for(llama: Path) -> None:
    look = open_model(str(llama), dtype="bfloat16").run("the light")
    assert look.recording.site(0).dtype == torch.bfloat16
    assert look.bit_equal is True
    with pytest.raises(DtypeError, match="'int4' is unknown"):
        open_model(str(llama), dtype="int4")


def test_weights_in_pickle_form_are_read_as_weights_only(copy: Path) -> None:
    weights = load_file(copy / "model.safetensors")
    (copy / "model.safetensors").unlink()
    torch.save(weights, copy / "pytorch_model.bin")
    assert open_model(str(copy)).run("the light").bit_equal is True


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('ran')",))


def test_a_pickle_that_would_run_code_is_refused(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    torch.save({"model.norm.weight": _Evil()}, copy / "pytorch_model.bin")
    with pytest.raises(BrokenModel, match="cannot be opened"):
        open_model(str(copy))


def test_code_in_a_folder_never_runs(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    config |= {
        "model_type": "strange",
        "auto_map": {"AutoConfig": "code.C", "AutoModelForCausalLM": "code.M"},
    }
    (copy / "config.json").write_text(json.dumps(config))
    (copy / "code.py").write_text("raise SystemExit('ran')")
    with pytest.raises(ModelError, match="wants Python code of its own to be run"):
        open_model(str(copy))


def _cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def _nan(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][3] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _lack(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.self_attn.k_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _config(**changed: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changed))

    return change


def _no_tokenizer(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()


BROKEN = [
    (_cut, BrokenModel, r"copy/model\.safetensors is cut short: it has [\d,]+ bytes"),
    (_nan, BrokenModel, r"model\.safetensors holds 1 of 32 numbers in model\.norm\.weight that are NaN"),
    (_lack, BrokenModel, r"model\.safetensors lacks model\.layers\.1\.self_attn\.k_proj\.weight\."),
    (
        _config(intermediate_size=64),
        BrokenModel,
        r"has other sizes than config\.json in model\.layers\.0\.mlp",
    ),
    (_config(num_hidden_layers=3), BrokenModel, r"lacks model\.layers\.2\.\S+ and 8 more"),
    (_config(num_hidden_layers=1), BrokenModel, r"more layers than config\.json, with model\.layers\.1\."),
    (_config(model_type="strange"), ModelError, r"names the model type 'strange', which transformers"),
    (_config(vocab_size="x"), BrokenModel, r"copy cannot be opened \(.*vocab_size"),
    (_no_tokenizer, BrokenModel, r"copy has no tokeniser"),
    (lambda f: (f / "model.safetensors").unlink(), BrokenModel, r"has a config\.json and no weights"),
    (lambda f: (f / "config.json").unlink(), MissingModel, r"copy has no config\.json"),
    (
        lambda f: (f / "config.json").write_text('{"n_layer": ' + "9" * 5000 + "}"),
        BrokenModel,
        r"config\.json is not JSON that can be read: a number in it has thousands of digits\. Copy",
    ),
    (lambda f: (f / "config.json").write_text("{"), BrokenModel, r"copy/config\.json is not JSON"),
    (lambda f: (f / "config.json").write_text("[]"), BrokenModel, r"copy/config\.json holds no object"),
    (lambda f: (f / "config.json").write_text("{}"), BrokenModel, r"config\.json names no model_type"),
    (lambda f: (f / "config.json").write_text('{"model_type": ["x"]}'), BrokenModel, "names no model_type"),
    (lambda f: (f / "config.json").write_bytes(b"\xff\xfe"), BrokenModel, r"config\.json is not JSON"),
    (lambda f: (f / "tokenizer.json").write_text("{"), BrokenModel, r"copy/tokenizer\.json is not JSON"),
]


@pytest.mark.parametrize(("harm", "kind", "said"), BROKEN)
def test_what_is_broken_is_named(copy: Path, harm: object, kind: type[Exception], said: str) -> None:
    harm(copy)  # type: ignore[operator]
    with pytest.raises(kind, match=said):
        open_model(str(copy))


def test_our_own_folder_with_nan_is_named(own: Path) -> None:
    weights = load_file(own / "model.safetensors")
    weights["head.weight"][0, 0] = float("nan")
    save_file(weights, own / "model.safetensors")
    with pytest.raises(
        BrokenModel, match=r"head\.weight in .*model\.safetensors holds 1 numbers that are NaN"
    ):
        open_model(str(own))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/nowhere/at/all", "There is no folder /nowhere/at/all"),
        ("./nowhere", "There is no folder nowhere"),
        ("a/b/c", "There is no folder a/b/c"),
        ("", "The model's name is empty"),
        ("a\0b", "The model's name is empty or holds a NUL"),
    ],
)
def test_a_folder_that_is_not_there_is_named_with_what_there_is(name: str, said: str) -> None:
    with pytest.raises(MissingModel, match=said) as caught:
        open_model(name)
    assert "embedded, lesson" in str(caught.value)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"x")
    with pytest.raises(MissingModel, match=r"is a file\. The folder that holds"):
        open_model(str(file))


def test_a_hub_name_without_a_network_gets_a_sentence() -> None:
    with pytest.raises(
        MissingModel, match="There is no folder nobody/nothing; it is not in the Hugging Face cache"
    ):
        open_model("nobody/nothing")


def test_a_hub_name_is_not_a_path() -> None:
    assert is_hub_id("gpt2")
    assert is_hub_id("HuggingFaceTB/SmolLM2-135M")
    for name in ("/etc", "./a", "../a", "a/b/c", "~/a", "", "-a", "a b"):
        assert not is_hub_id(name), name


def test_the_context_of_roberta_leaves_out_the_places_of_its_padding(
    tiny: SimpleNamespace, tmp_path: Path
) -> None:
    from transformers import RobertaConfig, RobertaForMaskedLM

    tokenizer = tiny.byte_level()
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=20,
        pad_token_id=1,
    )
    subject = open_model(str(tiny.written(tmp_path, RobertaForMaskedLM(config), tokenizer)))
    assert subject.context == 18
    assert subject.run(subject.codec.fitting("x y z " * 20)).sites[0].tk == 18
