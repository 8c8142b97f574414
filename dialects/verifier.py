"""The verifier: xDSL's checks operation by operation, then dominance; errors as diagnostics with a place.

xDSL's own `module.verify()` raises at the first fault, mostly without saying at which operation.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from .diagnostic import Diagnostic, NestorError, op_location
from .dominance import dominance_errors, walk
from .upstream_rules import broken_rule

_ISOLATION = "IsolatedFromAbove"


class VerificationFailure(NestorError):
    '''The IR breaks a rule of an operation or of SSA form. `errors` has every fault found.

        nt.schedule("""
        func.func @f(%x: memref<8xf32>) {
          %v = nest.load %x[0, 0] : memref<8xf32>
          func.return
        }""")

    The message names the operation and the rule. Text that a pass has written and that breaks a rule is a defect of the
    pass.
    '''

    def __init__(self, errors: list[Diagnostic]):
        super().__init__(errors[0].message, errors[0].location, notes=errors[0].notes)
        self.errors = errors


def verify(root: Operation) -> None:
    """Raise `VerificationFailure` unless `root` and everything inside it is valid IR."""
    if errors := verification_errors(root):
        raise VerificationFailure(errors)


def verification_errors(root: Operation) -> list[Diagnostic]:
    """What is wrong inside `root`: one error an isolated operation (function), as in MLIR; then dominance."""
    failed: set[Operation | None] = set()
    scopes: dict[Operation | None, Operation | None] = {None: None}
    errors: list[Diagnostic] = []
    for op in walk(root):
        scope = scopes.get(op.parent_op())
        if op.regions:
            isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
            scopes[op] = op if isolated else scope
        if scope in failed:
            continue
        error = next(symbol_errors(op), None) if op.regions else None
        if error is None and (message := next(_faults(op), None)) is not None:
            error = Diagnostic("error", f"'{op.name}' op {message}", op_location(op))
        if error is not None:
            failed.add(scope)
            errors.append(error)
    if not errors or any(_ISOLATION in error.message for error in errors):
        # Dominance tells which use is at fault; the isolation trait only names the function.
        return list(dominance_errors(root)) or errors
    return errors


def symbol_errors(op: Operation) -> Iterator[Diagnostic]:
    """Symbols of a table that an earlier one has the name of, at the place of the later one."""
    if not op.has_trait(SymbolTable, value_if_unregistered=False):
        return
    first: dict[StringAttr, Operation] = {}
    for symbol in (one for region in op.regions for block in region.blocks for one in block.ops):
        name = symbol.get_attr_or_prop("sym_name")
        if not isinstance(name, StringAttr):
            continue
        if name in first:
            note = Diagnostic("note", "it is defined here as well", op_location(first[name]))
            yield Diagnostic("error", f"redefinition of symbol '@{name.data}'", op_location(symbol), [note])
        first.setdefault(name, symbol)


def _faults(op: Operation) -> Iterator[str]:
    for region in op.regions:
        for block in region.blocks:
            if block.parent is not region or any(child.parent is not block for child in block.ops):
                yield "has a block or operation whose parent link is wrong"
            if not block.ops and not op.has_trait(NoTerminator):
                yield "expects a terminator in its region, but a block is empty"
    try:
        op.verify(verify_nested_ops=False)
    except (VerifyException, ValueError) as error:
        yield _tidy(str(error), op)
    except Exception as error:
        # Some of xDSL's verifiers raise a bare Exception, or fall over what a rule of ours says; all else is a bug.
        if (message := broken_rule(op)) is not None:
            yield message
        elif type(error) is not Exception:
            raise RuntimeError(f"verifier of '{op.name}': {type(error).__name__}: {error}") from error
        else:
            yield _tidy(str(error), op)
    else:  # the rules read operands and properties: their number was checked before
        if (message := broken_rule(op)) is not None:
            yield message


def _tidy(message: str, op: Operation) -> str:
    """xDSL's message on one line, without the operation's name repeated."""
    text = " ".join(message.split())
    for prefix in (f"Operation {op.name} ", f"'{op.name}' ", f"{op.name}: ", f"{op.name} op ", f"{op.name} "):
        text = text.removeprefix(prefix)
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
