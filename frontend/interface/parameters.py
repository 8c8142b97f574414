"""Arguments as parameters: what Python says of calls that do not fit."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any


def as_called(signature: inspect.Signature) -> str:
    """`(x, by=2.0)`: the parameters without their annotations, which may be longer than all the rest."""
    parameters = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return str(inspect.Signature(parameters))


def bound(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> inspect.BoundArguments:
    """The arguments by parameter. Raises TypeError; a keyword that no parameter has is named first, as Python does."""
    parameters = signature.parameters
    unknown = next((name for name in kwargs if name not in parameters), None)
    if unknown is not None and all(p.kind is not p.VAR_KEYWORD for p in parameters.values()):
        raise TypeError(f"got an unexpected keyword argument '{unknown}'")
    return signature.bind(*args, **kwargs)
