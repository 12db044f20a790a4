"""`mergebo new`: begin a study whose trials a person evaluates."""

from __future__ import annotations

from typing import Annotated

import typer

from mergebo.cli.screen import Json, print_json, say
from mergebo.cli.studies import HERE, Directions, Initial, Method, Noisy, Seed, Setup, Storage, begin, check_directions
from mergebo.cli.words import Words, about_a_space


@about_a_space
def new(
    words: Words,
    name: Annotated[str, typer.Argument(envvar="MERGEBO_STUDY", help="What the study is called.")] = "study",
    storage: Storage = HERE,
    direction: Directions = None,
    method: Method = "auto",
    initial: Initial = 20,
    noisy: Noisy = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Begin a study: `ask` says what to try, `tell` takes what came of it.

    Example: `mergebo new --items base,acid,salt,water --before water:acid --real heat=20:80 --direction maximize`
    """
    setup = Setup(words.space(), method, seed, initial, noisy)
    study = begin(storage, name, setup, check_directions(direction))
    if as_json:
        print_json({"study": study.name, "storage": study.url, "directions": study.directions, **setup.to_data()})
        return
    said = "the best order" if len(study.directions) == 1 else f"orders that are good in {len(study.directions)} respects"
    say("The study ", (study.name, "bold"), f" looks for {said}; it is in {study.url}.")
    say("`mergebo ask` says what to try first.")
