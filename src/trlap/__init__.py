"""Word-level private text, with what was claimed, what is true and what an attack shows."""

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trlap.privatize.privatizer import Privatizer
    from trlap.report.results import load_results

__all__ = ["Privatizer", "load_results"]

# as libraries do: Python would print warnings of a logger that nobody has set up
logging.getLogger("trlap").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    """`from trlap import Privatizer` loads torch; `import trlap` alone does not."""
    if name == "Privatizer":
        from trlap.privatize.privatizer import Privatizer

        return Privatizer
    if name == "load_results":
        from trlap.report.results import load_results

        return load_results
    raise AttributeError(f"module 'trlap' has no attribute {name!r}")
