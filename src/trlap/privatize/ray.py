"""A user's own text on a Ray cluster: the same Privatizer, in as many processes as there is room for.

The process that was started reads the file and hands batches of texts to the others, a few at a time, which
draw their seeds from their own operating systems, block by block. The private texts come back in order.

What holds: we write no original text to a file, and a worker's exception does not quote one. What does not:
the texts travel over the cluster's network, which is encrypted only if Ray was set up with TLS, and lie in
the workers' memory and in Ray's object store, which is shared memory and which Ray may spill to a disk of the
cluster when others fill it. Ray alone decides that.
"""

import logging
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

from trlap.errors import TrlapError
from trlap.privatize.answers import Tally
from trlap.privatize.columns import Columns
from trlap.privatize.crash import describe
from trlap.privatize.privatizer import Privatizer
from trlap.privatize.streams import batches_of_texts, transform
from trlap.progress import Show

# keywords of Privatizer
Keys = Mapping[str, Any]
# batches under way for each worker
AHEAD = 2


class Answer(NamedTuple):
    """Private texts, and what was counted in them."""

    texts: list[str]
    tally: Tally


class Worker:
    """What each process of the pool holds."""

    def __init__(self, threads: int, keys: Keys) -> None:
        import torch

        torch.set_num_threads(threads)
        self.privatizer = Privatizer(**keys)

    def ready(self) -> bool:
        return True

    def privatize(self, texts: list[str], place: int) -> Answer:
        self.privatizer.tally = Tally()
        try:
            return Answer(self.privatizer.privatize(texts, place), self.privatizer.tally)
        except Exception as error:
            report = describe(error)
        # Ray keeps messages of exceptions in its logs.
        raise RuntimeError(report)


class Pool:
    """Workers that answer in the order in which they were asked.

    Only those are asked that have started: where others use the cluster too, some may have to wait.
    """

    def __init__(self, threads: int, keys: Keys) -> None:
        import ray

        self.ray = ray
        actor = ray.remote(num_cpus=threads)(Worker)
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        room = sum(int(resources.get("CPU", 0)) // threads for resources in nodes)
        # one core reads
        workers = [actor.remote(threads, keys) for _ in range(max(1, room - 1))]
        self.starting = [(worker, worker.ready.remote()) for worker in workers]
        self.started: list[Any] = []
        self.asked = 0

    def answers(self, batches: Iterator[list[str]]) -> Iterator[Answer]:
        under_way: deque[Any] = deque()
        # where a text stands decides what it may be answered with, whoever answers
        place = 0
        for texts in batches:
            self._greet()
            worker = self.started[self.asked % len(self.started)]
            self.asked += 1
            under_way.append(worker.privatize.remote(texts, place))
            place += len(texts)
            if len(under_way) >= AHEAD * len(self.started):
                yield self.ray.get(under_way.popleft())
        while under_way:
            yield self.ray.get(under_way.popleft())

    def _greet(self) -> None:
        """Count in the workers that have started; wait for the first of all."""
        if not self.starting:
            return
        pending = [ready for _, ready in self.starting]
        if self.started:
            done, _ = self.ray.wait(pending, num_returns=len(pending), timeout=0)
        else:
            done, _ = self.ray.wait(pending, num_returns=1)
        for ready in done:
            # raises what went wrong at the start
            self.ray.get(ready)
        self.started += [worker for worker, ready in self.starting if ready in done]
        self.starting = [pair for pair in self.starting if pair[1] not in done]


def privatize(
    privatizer: Privatizer,
    keys: Keys,
    source: str,
    output: BinaryIO,
    kind: str,
    columns: Columns,
    threads: int,
    show: Show,
) -> None:
    """Stream `source` through a pool of Privatizer(**keys); `privatizer` takes the counts.

    RAY_ADDRESS says which cluster; without it Ray starts here. The file is read twice at the same time: once
    ahead for its texts, once for the rows into which the private ones go.
    """
    try:
        import ray
    except ImportError:
        raise TrlapError("engine=ray needs Ray: `make ray` installs it") from None

    ray.init(log_to_driver=False, logging_level=logging.ERROR, ignore_reinit_error=True)
    pool = Pool(max(1, threads), keys)
    answers = pool.answers(batches_of_texts(source, kind, columns))

    def change(originals: list[str], share: float | None) -> list[str]:
        answer = next(answers, None)
        if answer is None or len(answer.texts) != len(originals):
            raise RuntimeError("Ray gave other batches back than it was given")
        privatizer.tally.add(answer.tally)
        show(share, privatizer.tokens)
        return answer.texts

    transform(source, output, kind, columns, change)
    if next(answers, None) is not None:
        raise RuntimeError("the file changed while it was read")
