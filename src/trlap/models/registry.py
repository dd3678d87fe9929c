"""Rewriters and classifiers by name. A preset names its class by `kind`: `bilstm_small` is a `bilstm`."""

from trlap.models.classifiers.base import Classifier
from trlap.models.rewriters.base import Rewriter
from trlap.registry import Registry

REWRITERS: Registry[Rewriter] = Registry(
    "model", "trlap.models.rewriters", "trlap.models", says=("Keys",)
)
CLASSIFIERS: Registry[Classifier] = Registry(
    "classifier", "trlap.models.classifiers", "trlap.classifiers", says=("Keys",)
)
