"""Enough of Ray to see in which order batches go out and come back."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class Remote:
    """A call, or a worker's method, as Ray makes them: `.remote(…)` gives something to get later."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.remote = lambda *given: (call, given)


class FakeRay(SimpleNamespace):
    """Enough of Ray to see in which order batches go out and come back. Workers start one by one."""

    def __init__(self) -> None:
        self.pending: list[Any] = []
        self.order: list[int] = []

    def init(self, **_: object) -> None: ...

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": 4.0}}, {"Alive": False, "Resources": {}}]

    def remote(self, num_cpus: int) -> Callable[[type], Any]:
        def actor(kind: type) -> Any:
            def start(*given: Any) -> Any:
                worker = kind(*given)
                number = len(self.pending)
                self.pending.append(worker)

                def ask(*asked: Any) -> Any:
                    self.order.append(number)
                    return worker.privatize(*asked)

                return SimpleNamespace(ready=Remote(worker.ready), privatize=Remote(ask))

            return SimpleNamespace(remote=start)

        return actor

    def wait(self, refs: list[Any], num_returns: int, timeout: float | None = None) -> Any:
        return refs[:1], refs[1:]

    def get(self, ref: Any) -> Any:
        call, given = ref
        return call(*given)
