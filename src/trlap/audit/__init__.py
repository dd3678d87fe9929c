"""The audit: what was claimed, what is exactly true, what attacks show."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trlap.audit.auditing import audit

__all__ = ["audit"]


def __getattr__(name: str) -> Any:
    """`from trlap.audit import audit` loads torch; names of attacks can be asked for without."""
    if name == "audit":
        from trlap.audit.auditing import audit

        return audit
    raise AttributeError(f"module 'trlap.audit' has no attribute {name!r}")
