"""Runs in the peers' environment: how often mldp-text replaces each word by each word.

stdin: {"mechanism", "epsilon", "vectors": [[...], ...], "word", "draws", "seed"}; stdout: counts
"""

import json
import random
import sys

import numpy as np
from gensim.models import KeyedVectors
from mldp_text import mechanisms

task = json.load(sys.stdin)
vectors = np.array(task["vectors"], np.float32)
words = [str(i) for i in range(len(vectors))]
table = KeyedVectors(vectors.shape[1])
table.add_vectors(words, vectors)
np.random.seed(task["seed"])
random.seed(task["seed"])
keys = {"embedding_matrix": table, "dim": vectors.shape[1], "vocab": set(words)}
if task["mechanism"] != "TEM":
    keys["use_faiss"] = False  # its index is approximate
peer = getattr(mechanisms, task["mechanism"])(task["epsilon"], **keys)
counts = [0] * len(words)
for _ in range(task["draws"]):
    counts[int(peer.replace_word(task["word"]))] += 1
json.dump(counts, sys.stdout)
