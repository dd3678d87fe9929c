"""Part of scripts/bench.py: a user's own text, answered with public texts."""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench_data import corpus
from bench_measure import DEVICE, ROOT, Row, seconds

from trlap.documents.encoder import MiniLM

TEXTS = 2000
ROUNDS = 3


def documents() -> Iterator[Row]:
    """The whole command, its start and all, beside the encoding of the same texts on one core in turn."""
    texts, name = corpus(TEXTS * 60)
    private, public = texts[:TEXTS], texts[TEXTS : 2 * TEXTS]
    encoder = MiniLM(DEVICE)
    with tempfile.TemporaryDirectory() as folder:
        for file, lines in (("mine", private), ("public", public)):
            Path(folder, f"{file}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [sys.executable, str(ROOT / "scripts" / "privatize.py"), "force=true"]
        command += [f"input={folder}/mine.txt", f"output={folder}/private.txt"]
        command += [f"public={folder}/public.txt", "mechanism=drr", "epsilon=2"]

        def whole() -> None:
            subprocess.run(command, check=True, capture_output=True, cwd=ROOT)

        # the first time, public texts are encoded too; the others find that in the cache
        first = seconds(whole)
        encoder.rows(private[:20])
        turns = [(seconds(whole), seconds(lambda: encoder.rows(private))) for _ in range(ROUNDS)]
    rate = statistics.median(len(private) / alone for _, alone in turns)
    yield Row(
        f"own text with drr, {len(private):,} texts of {name} through scripts/privatize.py, against encoding "
        "them alone",
        statistics.median(whole / alone for whole, alone in turns),
        "× its time",
        "≤ 3",
        note=f"alone {rate:.0f} texts a second; the first run, with {len(public):,} public texts, "
        f"{first:.0f} s",
    )
