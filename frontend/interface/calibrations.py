"""What a calibration found, as data: scales and zero points of the operands of products (`nt.quant.calibrate`)."""

from __future__ import annotations

import json
import linecache
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DTypeError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import DictionaryAttr, ModuleOp

FORMAT = 1
"""Of the JSON text; a text of another one is refused."""


@dataclass(frozen=True)
class Parameters:
    """Scales and zero points of an array: one of each, or one for each index of `axis`. `dtype` is "int8" or "uint8".

    `nt.quant.quantise(x, p.scales, p.zero_points, p.dtype, p.axis)` is `p.quantise(x)`.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    dtype: str = "int8"
    axis: int | None = None

    def __post_init__(self) -> None:
        if self.dtype not in ("int8", "uint8"):
            raise DTypeError(f"dtype={self.dtype!r} of quantised numbers", hint="int8 or uint8")
        info = np.iinfo(self.dtype)
        if len(self.scale) != len(self.zero_point) or (self.axis is None and len(self.scale) != 1):
            raise DTypeError("a scale and a zero point each: one, or one for each index of the axis")
        if not all(np.isfinite(s) and s > 0 and float(np.float32(s)) == s for s in self.scale):
            raise DTypeError("a scale is a positive number of float32")
        if not all(info.min <= z <= info.max for z in self.zero_point):
            raise DTypeError(f"a zero point is one of the integers of {self.dtype}")

    @property
    def scales(self) -> np.ndarray:
        """The scales in float32, of shape () or (channels,)."""
        return np.array(self.scale[0] if self.axis is None else self.scale, np.float32)

    @property
    def zero_points(self) -> np.ndarray:
        """The zero points as integers of `dtype`, of shape () or (channels,)."""
        return np.array(self.zero_point[0] if self.axis is None else self.zero_point, self.dtype)


@dataclass(frozen=True)
class Site:
    """A product of a program: its line, the text of that, which axes it sums over, and its operands' numbers.

    None stands for weights: int8, with scales that the program computes from the weights themselves, one for each output.
    """

    place: str
    """The file's name, the line, and the number of the product among those of the line: "net.py:12.0"."""
    text: str
    terms: str
    lhs: Parameters | None
    rhs: Parameters | None


@dataclass(frozen=True)
class Calibration:
    """The scales and zero points that `nt.quant.calibrate` found for the products of a function.

        nt.jit(f, quantise=calibration)
        calibration.save("f.json"); nt.quant.Calibration.load("f.json")

    It is for the text of the function that was calibrated: a product whose line reads otherwise is refused (DTypeError).
    """

    sites: tuple[Site, ...]

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as JSON. Raises OSError."""
        Path(path).write_text(self.as_json() + "\n", encoding="utf-8")

    @staticmethod
    def load(path: str | PathLike[str]) -> Calibration:
        """Read what `save` wrote. Raises OSError, and DTypeError for another text."""
        return Calibration.from_json(Path(path).read_text(encoding="utf-8"))

    def as_json(self) -> str:
        """The JSON text."""
        return json.dumps({"format": FORMAT, "sites": [asdict(site) for site in self.sites]}, indent=1)

    @staticmethod
    def from_json(text: str) -> Calibration:
        """What `as_json` gave. Raises DTypeError for another text."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise ValueError(f"its format is {data['format']}, and this is {FORMAT}")
            return Calibration(tuple([_site(one) for one in data["sites"]]))
        except (ValueError, KeyError, TypeError) as error:
            raise DTypeError(f"this is no calibration: {error}", hint="calibrate again") from None

    def attribute(self) -> DictionaryAttr:
        """What nt-quantise reads."""
        from xdsl.dialects.builtin import (
            DenseArrayBase,
            DictionaryAttr,
            IntegerAttr,
            StringAttr,
            f32,
            i32,
            i64,
        )

        def numbers(given: Parameters) -> DictionaryAttr:
            facts: dict[str, Any] = {
                "element": StringAttr(given.dtype),
                "scale": DenseArrayBase.from_list(f32, list(given.scale)),
                "zero": DenseArrayBase.from_list(i32, list(given.zero_point)),
            }
            if given.axis is not None:
                facts["axis"] = IntegerAttr(given.axis, i64)
            return DictionaryAttr(facts)

        def facts(site: Site) -> DictionaryAttr:
            sides = {"lhs": site.lhs, "rhs": site.rhs}
            known = {name: numbers(one) for name, one in sides.items() if one is not None}
            return DictionaryAttr({"terms": StringAttr(site.terms), **known})

        return DictionaryAttr({site.place: facts(site) for site in self.sites})

    def check_lines(self, module: ModuleOp) -> None:
        """Raise DTypeError where a product of a program is on a line that reads otherwise than it did."""
        from ...transforms.tensor.product_sites import functions_of, product_sites

        known = {site.place: site for site in self.sites}
        found = [pair for function in functions_of(module) for pair in product_sites(function).items()]
        for place, product in found:
            site = known.get(place)
            now = line_of(product)
            if site is not None and site.text != now:
                text = f"the calibration is of another text: {place} was {site.text!r}, and is {now!r}"
                raise DTypeError(text, hint="calibrate this function again")


def line_of(product: Any) -> str:
    """The Python line of an operation, without the spaces around it."""
    from ...dialects.diagnostic import op_location

    place = op_location(product)
    return "" if place is None else linecache.getline(place.file, place.line).strip()


def _site(data: dict[str, Any]) -> Site:
    sides = {name: _parameters(data[name]) for name in ("lhs", "rhs")}
    return Site(PurePath(data["place"]).name, data["text"], data["terms"], **sides)


def _parameters(data: dict[str, Any] | None) -> Parameters | None:
    if data is None:
        return None
    return Parameters(tuple(data["scale"]), tuple(data["zero_point"]), data["dtype"], data["axis"])
