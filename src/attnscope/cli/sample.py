"""`attnscope sample`: a trained model goes on from a prompt."""

from __future__ import annotations

import click

from attnscope.cli.forms import seed_option


@click.command()
@click.argument("model")
@click.option(
    "--prompt", default="\n", show_default="a newline", metavar="T", help="What the text begins with."
)
@click.option(
    "--length", type=click.IntRange(min=1), default=400, show_default=True, metavar="N", help="In characters."
)
@click.option(
    "--temperature",
    type=float,
    default=0.8,
    show_default=True,
    metavar="X",
    help="0 takes the likeliest character every time; 1 samples as the model was trained.",
)
@seed_option("Of the draws.")
def command(*, model: str, prompt: str, length: int, temperature: float, seed: int) -> None:
    """Let a trained model write a text.

    MODEL is embedded, lesson, lesson-no-positions, or a folder that `attnscope train` wrote. The same seed
    gives the same text.
    """  # fmt: skip
    from attnscope.gpt.sampling import stream
    from attnscope.gpt.shipped import open_gpt

    made = stream(open_gpt(model), prompt, length, temperature=temperature, seed=seed)
    click.echo(prompt, nl=False)
    for character in made:
        click.echo(character, nl=False)
    click.echo()
