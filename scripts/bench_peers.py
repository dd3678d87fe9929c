"""The peers' side of scripts/bench.py, in their own environment: one job a line, its seconds back."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

folder = Path(sys.argv[1])
# seconds for one turn of a peer that takes words one by one
LIMIT = 3.0
NAMES = {
    "cmp": "MultivariateCalibrated",
    "vickrey": "VickreyMechanism",
    "mahalanobis": "Mahalanobis",
    "tem": "TEM",
}
made: dict[str, Any] = {}


def load(name: str) -> Any:
    return np.load(folder / f"{name}.npy")


def faiss() -> float:
    if "faiss" not in made:
        import faiss as library

        made["faiss"] = library.IndexFlatL2(300)
        made["faiss"].add(load("vectors"))
        made["points"] = load("points")
    return timed(lambda: made["faiss"].search(made["points"], 1))


def sklearn() -> float:
    if "sklearn" not in made:
        from sklearn.neighbors import NearestNeighbors

        made["sklearn"] = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(load("vectors"))
        made["points"] = load("points")
    return timed(lambda: made["sklearn"].kneighbors(made["points"], return_distance=False))


def mldp(mechanism: str) -> float:
    """Seconds a token, over as many tokens as fit into a turn."""
    if mechanism not in made:
        from gensim.models import KeyedVectors
        from mldp_text import mechanisms

        vectors = load("vectors")
        words = [str(i) for i in range(len(vectors))]
        table = KeyedVectors(vectors.shape[1])
        table.add_vectors(words, vectors)
        kind = getattr(mechanisms, NAMES[mechanism])
        keys = {"embedding_matrix": table, "dim": vectors.shape[1], "vocab": set(words)}
        made[mechanism] = kind(10.0, **keys)
        made["tokens"] = [str(i) for i in load("tokens")]
    start, done = time.perf_counter(), 0
    for token in made["tokens"]:
        made[mechanism].replace_word(token)
        done += 1
        if time.perf_counter() - start > LIMIT:
            break
    return (time.perf_counter() - start) / done


def timed(job: Callable[[], Any]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


JOBS: dict[str, Callable[..., float]] = {"faiss": faiss, "sklearn": sklearn, "mldp": mldp}
for line in sys.stdin:
    task = json.loads(line)
    print(JOBS[task.pop("job")](**task), flush=True)
