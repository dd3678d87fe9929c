"""A user's own text on a Ray cluster: the same Privatizer, in as many processes as there is room for.

The texts go into a parquet file beside the output, from there through Ray Data's `map_batches`, and come
back in their order. Every process draws its seeds from its own operating system, block by block.
"""

import logging
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from trlap.errors import TrlapError
from trlap.privatize.privatizer import BATCH, Privatizer
from trlap.privatize.streams import transform
from trlap.progress import Show

# keywords of Privatizer
Keys = Mapping[str, Any]


class Worker:
    """What each process of the pool holds."""

    def __init__(self, threads: int, keys: Keys) -> None:
        import torch

        torch.set_num_threads(threads)
        self.privatizer = Privatizer(**keys)

    def __call__(self, batch: dict[str, NDArray[Any]]) -> dict[str, object]:
        """Private texts; what was counted stands in the first row."""
        privatizer, size = self.privatizer, len(batch["row"])
        unknown, leaked = privatizer.unknown, privatizer.leaked
        private = privatizer.privatize(batch["text"].tolist())
        counts = {"unknown": privatizer.unknown - unknown, "leaked": privatizer.leaked - leaked}
        rest = {key: [count] + [0] * (size - 1) for key, count in counts.items()}
        return {"row": batch["row"], "text": private, **rest}


def privatize(
    privatizer: Privatizer,
    keys: Keys,
    source: str,
    target: Path,
    kind: str,
    column: str,
    threads: int,
    show: Show,
) -> list[str]:
    """Stream `source` through a pool of Privatizer(**keys); `privatizer` takes the counts.

    Returns a text and its private version. RAY_ADDRESS says which cluster; without it Ray starts here.
    """
    try:
        import ray
    except ImportError as error:
        raise TrlapError("engine=ray needs Ray: `make ray` installs it") from error

    sample: list[str] = []
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".ray.") as folder:
        texts = Path(folder).absolute() / "texts.parquet"
        rows = _write_texts(source, kind, column, texts)
        ray.init(log_to_driver=False, logging_level=logging.ERROR, ignore_reinit_error=True)
        private = _private(texts, keys, max(1, threads))
        done = 0

        def change(originals: list[str], share: float | None) -> list[str]:
            nonlocal done
            batch = []
            for _ in originals:
                row, text, unknown, leaked = next(private)
                if row != done:
                    raise RuntimeError(f"Ray gave row {row} where {done} was due")
                done += 1
                privatizer.lengths[text.count(" ") + 1 if text else 0] += 1
                privatizer.unknown += unknown
                privatizer.leaked += leaked
                batch.append(text)
            if not sample:
                pairs = zip(originals, batch, strict=True)
                sample.extend(next((pair for pair in pairs if pair[1]), ()))
            show(share, privatizer.tokens)
            return batch

        transform(source, target, kind, column, change)
        if done != rows:
            raise RuntimeError(f"{rows} texts went out and {done} came back")
    return sample


def _write_texts(source: str, kind: str, column: str, target: Path) -> int:
    """The texts and their numbers, in groups that are read apart."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = 0
    schema = pa.schema({"row": pa.int64(), "text": pa.string()})
    with parquet.ParquetWriter(target, schema) as writer:

        def keep(texts: list[str], share: float | None) -> list[str]:
            nonlocal rows
            numbers = range(rows, rows + len(texts))
            writer.write_table(pa.table({"row": numbers, "text": texts}, schema=schema))
            rows += len(texts)
            return texts

        transform(source, target.with_name(f"copy{kind}"), kind, column, keep)
    return rows


def _private(texts: Path, keys: Keys, threads: int) -> Iterator[tuple[int, str, int, int]]:
    """Row by row: its number, the private text, unknown and leaked tokens."""
    import ray
    from ray.data import ActorPoolStrategy, DataContext

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    cores = int(ray.cluster_resources()["CPU"])
    # one core reads
    pool = ActorPoolStrategy(min_size=1, max_size=max(1, (cores - 1) // threads))
    private = ray.data.read_parquet(str(texts)).map_batches(
        Worker,
        fn_constructor_args=(threads, keys),
        batch_size=BATCH,
        compute=pool,
        num_cpus=threads,
    )
    for batch in private.iter_batches(batch_size=BATCH):
        columns = (batch[name].tolist() for name in ("row", "text", "unknown", "leaked"))
        yield from zip(*columns, strict=True)
