"""The `vector` dialect: xDSL's, plus the operations Nestor needs that xDSL lacks."""

from xdsl.dialects.vector import Vector
from xdsl.ir import Dialect

VECTOR = Dialect("vector", [*Vector.operations], [*Vector.attributes])
