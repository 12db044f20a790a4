"""`mergebo plot`: a study in pictures."""

from __future__ import annotations

import re
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mergebo.cli.screen import Json, complain, print_json, say, writing
from mergebo.cli.studies import HERE, Name, Storage, load
from mergebo.errors import ArgumentError


class What(StrEnum):
    """Pictures of a study."""

    CONVERGENCE = "convergence"
    PRECEDENCE = "precedence"
    POSITIONS = "positions"
    NEIGHBOURS = "neighbours"
    MODEL = "model"
    ALL = "all"


def plot(
    what: Annotated[What, typer.Argument(help="Which picture; `all` is a page with every one of them.")] = What.ALL,
    out: Annotated[Path | None, typer.Option(help="A file that ends in .png, .svg, .pdf or .html.")] = None,
    storage: Storage = HERE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Draw how the best value became better, what good orders have in common, and what the model believes.

    Without `--out` the file has the name of the study, and is a page (HTML) with all pictures, or a PNG of one. Exit status
    1 if there is no result yet.

    Example: `mergebo plot precedence --out before.png`
    """
    study = load(storage, name)
    called = re.sub(r"[^\w.-]+", "-", study.name).strip(".-") or "study"
    path = out or Path(f"{called}.html" if what == What.ALL else f"{called}-{what}.png")
    kind = path.suffix.lower()
    if kind not in (".png", ".svg", ".pdf", ".html"):
        raise ArgumentError(f"a picture is a file that ends in .png, .svg, .pdf or .html, got {path.name!r}")
    if what == What.ALL and kind != ".html":
        raise ArgumentError(
            f"all pictures are a page: {path.with_suffix('.html').name!r}; or say which one, such as `precedence`"
        )
    if not study.done():
        complain(f"the study {study.name!r} has no result yet: there is nothing to draw")
        raise typer.Exit(1)
    from mergebo.cli import pictures

    every = [each.value for each in What if each != What.ALL]
    with writing(path), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")  # in the names of items
        if kind == ".html":
            path.write_text(pictures.page(study, every if what == What.ALL else [what.value]), encoding="utf-8")
        else:
            pictures.DRAWN[what.value](study).savefig(path)
    if as_json:
        print_json({"study": study.name, "file": str(path)})
    else:
        say(str(path))
