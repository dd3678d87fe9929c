"""Results of earlier versions, brought up to date one step at a time.

A step takes a result of one version and gives one of the next. Rows of a study that were committed years
ago stay readable, because no step is ever taken out.
"""

from collections.abc import Callable, Mapping

from trlap.errors import TrlapError
from trlap.runs.records import Json

NEWEST = 3
# version 1 had these and no key for them
ATTACKS_OF_1 = ("distinguish", "inversion", "masked_token", "deniability")


def to_newest(plain: Mapping[str, Json]) -> dict[str, Json]:
    version = plain.get("schema_version", 1)
    if not isinstance(version, int) or not 1 <= version <= NEWEST:
        raise TrlapError(
            f"a result of schema_version {version} cannot be read by this trlap, which knows up to "
            f"{NEWEST}; install a newer one"
        )
    upgraded = dict(plain)
    for step in STEPS[version - 1 :]:
        upgraded = step(upgraded)
    return upgraded


def _from_1(plain: dict[str, Json]) -> dict[str, Json]:
    """Version 1: no version number; empty objects for what did not run; metrics hid in other stages."""
    details = dict(plain["details"])
    trained, classified = details.get("rewrite") or {}, details.get("classify") or {}
    details["rewrite"] = trained if "precision" in trained else None
    details["classify"] = classified if "accuracy" in classified else None
    provenance = dict(plain["provenance"])
    config = dict(provenance.get("config", {}))
    if "privatize" in config.get("stages", ()) and "metrics" not in config["stages"]:
        stages = list(config["stages"])
        audited = stages.index("audit") if "audit" in stages else len(stages)
        config["stages"] = [*stages[:audited], "metrics", *stages[audited:]]
    if config.get("model"):
        config["model"] = {"kind": "bilstm"} | config["model"]
    if config.get("audit"):
        config["audit"] = {"attacks": list(ATTACKS_OF_1)} | config["audit"]
    seconds = dict(plain.get("seconds", {}))
    measured = [
        seconds.pop(name) for name in ("metrics_private", "metrics_rewritten") if name in seconds
    ]
    if measured:
        seconds["metrics"] = round(sum(measured), 3)
    return plain | {
        "schema_version": 2,
        "unit": "word",
        "details": details,
        "provenance": provenance | {"config": config},
        "seconds": seconds,
    }


def _from_2(plain: dict[str, Json]) -> dict[str, Json]:
    """Version 2: `as_released` hid among details; its N_w was over the original's length, as theirs is not."""
    details = dict(plain["details"])
    metrics = dict(details.get("metrics") or {})
    released = dict(metrics.pop("as_released", None) or {})
    released.pop("n_w", None)
    # rows of a study have no nulls
    released = {name: value for name, value in released.items() if value is not None}
    details |= {"metrics": metrics} if "metrics" in details else {}
    return plain | {"schema_version": 3, "details": details, "as_released": released}


STEPS: list[Callable[[dict[str, Json]], dict[str, Json]]] = [_from_1, _from_2]
