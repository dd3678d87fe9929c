"""Attacks by name: ours, and those of other packages. Nothing heavy is imported before one is asked for."""

from typing import TYPE_CHECKING

from trlap.registry import Registry

if TYPE_CHECKING:
    from trlap.audit.attacks.base import Attack

ATTACKS: "Registry[Attack]" = Registry(
    "audit.attacks", "trlap.audit.attacks", "trlap.attacks", says=("knows",)
)
