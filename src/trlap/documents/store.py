"""Vectors of documents that were encoded before, by their text.

A document's vector depends on its text alone, so one that was encoded in any split of any run need not be
encoded again, and an encoding that is killed goes on where it was. A shard is written whole or not at all; one
that cannot be read is named and left out of account, so that its documents are encoded anew.
"""

import hashlib
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trlap.documents.encoder import Encoder, Floats
from trlap.files import atomic, digest, say_once
from trlap.runs.records import Json

# documents of a shard: what a kill costs at most, some seconds
SHARD = 512
# bytes that stand for a text
DIGEST = 16


class Store:
    """The vectors of one encoder, in a folder that its fingerprint names."""

    def __init__(self, root: Path, fingerprint: Json) -> None:
        self.folder = root / f"vectors-{digest(fingerprint)}"

    def encode(self, texts: Sequence[str], encoder: Encoder) -> Floats:
        """A row for each text; different ones that are not known are encoded, shard by shard."""
        names = [_name(text) for text in texts]
        known = self._read(set(names))
        missing = {name: text for name, text in zip(names, texts, strict=True) if name not in known}
        new = list(missing.items())
        for start in range(0, len(new), SHARD):
            shard = new[start : start + SHARD]
            part = f"{start + len(shard):,} of {len(new):,} documents"
            rows = encoder.encode([text for _, text in shard], part)
            self._write([name for name, _ in shard], rows)
            known |= {name: row for (name, _), row in zip(shard, rows, strict=True)}
        return np.stack([known[name] for name in names]) if names else encoder.encode([])

    def _read(self, wanted: set[bytes]) -> dict[bytes, Floats]:
        known: dict[bytes, Floats] = {}
        for path in sorted(self.folder.glob("*.npz")):
            try:
                with np.load(path, allow_pickle=False) as shard:
                    names, rows = shard["names"], shard["rows"]
            # cut off, or not as it was written: each part of such a file has a checksum
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                say_once(f"{path.name} in the cache cannot be used; its documents are encoded anew")
                path.unlink(missing_ok=True)
                continue
            for name, row in zip(names, rows, strict=True):
                if name.tobytes() in wanted:
                    known[name.tobytes()] = row
        return known

    def _write(self, names: Sequence[bytes], rows: Floats) -> None:
        buffer = io.BytesIO()
        # a void keeps trailing zeros, which a string of bytes would lose
        np.savez(buffer, names=np.array(names, dtype=f"V{DIGEST}"), rows=rows)
        label = hashlib.sha256(b"".join(names)).hexdigest()[:16]
        with atomic(self.folder / f"{label}.npz") as file:
            file.write_bytes(buffer.getbuffer())


def _name(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:DIGEST]
