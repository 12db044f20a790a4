"""The store: no record is lost and no job is claimed twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mergebo.errors import RecordFileError
from mergebo.experiments import Job, Store
from mergebo.experiments.jobs import run_job

pytestmark = pytest.mark.slow
TINY = Job("tsp:random(n=6,seed=1)", "random", 0, 6, 3)


def test_a_truncated_line_loses_only_that_record(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first, second = run_job(TINY), run_job(Job(**{**vars(TINY), "seed": 1}))
    store.add(first)
    whole = len(store.path.read_bytes())
    store.add(second)
    everything = store.path.read_bytes()
    store.close()
    for length in range(whole, len(everything)):
        store.path.write_bytes(everything[:length])
        again = Store(tmp_path)
        assert again.records() == [first]
        assert not again.is_done(second.job)
        again.add(second)
        assert again.path.read_bytes() == everything
        again.close()


def test_an_invalid_line_is_reported(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(run_job(TINY))
    with store.path.open("a") as file:
        file.write("{}\n")
    with pytest.raises(RecordFileError, match=r"records\.jsonl, line 2"):
        Store(tmp_path).records()


def test_a_claim_is_for_one_process_and_ends_with_it(tmp_path: Path) -> None:
    code = """
import sys, time
from mergebo.experiments import Job, Store
store = Store(sys.argv[1])
print(store.claim(Job("tsp:random(n=6,seed=1)", "random", 0, 6, 3)), flush=True)
time.sleep(60)
"""
    other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "True\n"
    store = Store(tmp_path)
    assert not store.claim(TINY)
    assert store.claim(Job(**{**vars(TINY), "seed": 1}))
    other.kill()
    other.wait()
    assert store.claim(TINY)
    store.add(run_job(TINY))
    assert not store.claim(TINY)  # done
    other.stdout.close()
