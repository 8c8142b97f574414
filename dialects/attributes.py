"""The names of attributes that say something about an operation or an argument: each once, with what it promises.

Names begin with the level that reads them: `nt.` at the tensor level, `nest.` at the level of loop nests, `nestor.` from
marks of loops down to machine code. A promise is checked by who is named; what nobody checks, who sets it must know.
"""

from __future__ import annotations

# ---- arguments and results of a function at the nt level (set by the frontend) ------------------------

NT_LAYOUT = "nt.layout"
"""`"c"`: elements lie in row-major order, without gaps; `"strided"`: anywhere. Guarded at each call."""

NT_ORDER = "nt.order"
"""Of a result: the order of its axes in memory, outermost first."""

NT_DIMS = "nt.dims"
"""The extent of each axis: a number, or a name that equal extents share. Guarded at each call."""

NT_ALIAS_SET = "nt.alias_set"
"""Arguments with the same number may overlap; one without a number overlaps nothing. Guarded at each call."""

NT_FROZEN = "nt.frozen"
"""The elements are the same in every call: the user promises it with `constants=`."""

NT_MUTATED = "nt.mutated"
"""Of an argument: the caller sees what is written to it."""

NT_WRITES_ARG = "nt.writes_arg"
"""Of a result: it is the final value of the mutated argument with this number."""

NT_CALLEE_ALLOCATED = "nt.callee_allocated"
"""Of a result: only the run knows its extents, and the function allocates it. convert-nt-to-nest hands it over."""

EXTENTS = "nestor.extents"
"""Of a function: what is known of unknown extents, by the names of `nt.dims` and `nest.dims`: `[least, most, multiple]`,
most -1 where there is none. The user declares it (`nt.dim`). Guarded at each call."""

ONE_THREAD = "nestor.one_thread"
"""Of a function: others run beside it, and its loops are not shared among threads (nest-schedule-cpu)."""

NT_FASTMATH = "nt.fastmath"
"""Of a function: the flags that the user granted to floating-point operations, by name."""

NT_APPROXIMATE = "nt.approximate"
"""Of an elementwise operation: what it computes is rounded to fewer bits by all who use it, so that it may be approximate
(`afn`). Who makes the operation knows that."""

NT_RECOMPUTED = "nt.recomputed"
"""Of a composite: kernels compute it, and its reverse may compute again what is large (nt-differentiate)."""

NT_AUTOCAST = "nt.autocast"
"""Of a function: the type of 16 bits that products are computed in, "bf16" or "f16" (nt-autocast)."""

NT_QUANTISE = "nt.quantise"
"""Of a function: "dynamic", or the scales and zero points of the operands of its products by their sites (nt-quantise)."""

NT_SNAPSHOTS = "nt.snapshots"
"""Of an scf.for, scf.while or nt.loops with time loops: the reverse keeps the states of at most so many iterations, and
runs parts of it again."""

NT_SNAPSHOT_BYTES = "nt.snapshot_bytes"
"""As nt.snapshots: the reverse keeps as many states of iterations as fit into so many bytes."""

NT_TAPES = "nt.tapes"
"""Of an island that keeps values for its derivative: a text for each result, why a tape is there, empty for the others."""

NT_VJP_RULE = "nt.vjp_rule"
"""Of a composite: the private function that has its gradients, of (inputs, cotangents of all results) -> (a cotangent for
each input of floats). The user gives it (nt.custom_vjp); nt-differentiate calls it in place of the derivative of the
region."""

NT_JVP_RULE = "nt.jvp_rule"
"""Of a composite: the private function that has its tangents, of (inputs, a tangent for each input of floats) -> (results,
a tangent for each result of floats). The user gives it (nt.custom_jvp)."""

NT_RULE_INPUTS = "nt.rule_inputs"
"""Of a composite with a derivative of the user's: how many of its inputs, from the first on, are arguments of the function.
The others must not be differentiated: nt-differentiate refuses."""

NT_NATIVE = "nt.native"
"""Of a composite: the first half of its operands are what machine code of the user's computes, the others what its region
gives in their place. nt-decompose takes the first where there is code for the CPU, or, where nt-drop-native has made it
"cuda", for GPUs."""

OWN_SCHEDULES = "nestor.own_schedules"
"""Of a module: the schedules that operations of the user's have, by the name that SCHEDULED_OP has in locations: for each a
dictionary of texts by target. nest-schedule-own applies them."""

# ---- names in locations (set by the frontend) ---------------------------------------------------------

STRATEGIES = "nestor.strategies"
"""Of a module: the texts of the user's strategies (`nt.jit(strategies=...)`), which nest-apply-strategies does."""

SCHEDULED_OP = "nt.op"
"""With the name and number of a call of an operation that has a schedule: the operation is part of its decomposition."""

# ---- names in locations (set by nt-differentiate) -----------------------------------------------------

NT_FORWARD = "nt.forward"
"""With the name of a derivative: the operation computes what the function computes. Only reports read it
(`analysis/tensor/residuals.py`); that passes keep it, as they keep places in Python, is checked by
`tests/programs/derivatives/test_kept.py`."""

NT_BACKWARD = "nt.backward"
"""With the name of a derivative: the operation computes cotangents, or the loop around it does. Otherwise as nt.forward."""

# ---- arguments of a function at the nest level (set by convert-nt-to-nest) ----------------------------

ROLE = "nest.role"
"""`"out"`: written, and never read before it is written; `"inout"`: both; without it: read only."""

DIMS = "nest.dims"
"""The extent of each axis, as `nt.dims`. The verifier checks its form (`upstream_rules.py`)."""

HANDS_OVER = "nest.hands_over"
"""Of an argument of words with role `"out"`: they describe an array of this memref type that the function allocates."""

ALIAS_SET = "nest.alias_set"
"""As `nt.alias_set`."""

FROZEN = "nest.frozen"
"""As `nt.frozen`; nest-freeze moves what depends on such arguments alone to a function of its own."""

INTRINSIC = "nest.intrinsic"
"""Of a function: its body is the meaning of an instruction. nest-tensorize proves that a nest computes the same."""

# ---- marks of loops: for a later level to obey --------------------------------------------------------

GRAIN = "nestor.grain"
"""Of a parallel loop: below twice as many iterations it runs serially."""

DESCENDING = "nestor.descending"
"""Of a parallel loop: a thread does its share in stretches of this many iterations, the last stretch first."""

BRANCH_COUNTS = "nestor.branch_counts"
"""Of a branch: the address of two 64-bit integers that count how often its condition was false, and true."""

BRANCH_WEIGHTS = "nestor.branch_weights"
"""Of a branch: how much more often its condition is true than false, as two integers."""

UNROLL = "nestor.unroll"
"""The loop is unrolled: by four on the CPU, by `#pragma unroll` in kernels."""

NO_SLP = "nestor.no_slp"
"""The statements of the loop are not put into the lanes of a vector."""

AS_WRITTEN = "nestor.as_written"
"""The body is the order of accesses that is wanted: LLVM neither vectorizes nor unrolls the loop."""

SCAN = "nestor.scan"
"""The loop becomes a vector of running results. nest-annotate checks that it is one (`running_results.py`)."""

MATRIX = "nestor.matrix"
"""Tensor cores compute what lanes do with their tiles. nest-annotate checks it (`matrix_tiles.py`)."""

PAIRS = "nestor.pairs"
"""Of a memref.alloca of 16-bit floats: all accesses are to the two elements of a row. convert-nest-to-gpu sees to it."""

VNNI = "nestor.vnni"
"""Instructions that add four products of bytes to each lane do what is in it. nest-annotate checks it (`vnni_tiles.py`)."""

BF16_PAIRS = "nestor.bf16_pairs"
"""An instruction adds two products of bfloat16 to each lane: the loop. nest-annotate checks it (`bf16_pairs.py`)."""

AMX = "nestor.amx"
"""The matrix unit of a CPU adds up the terms. nest-annotate checks it (`amx_tiles.py`)."""

ASYNC = "nestor.async"
"""The copies of the loop are under way while their thread goes on. nest-annotate checks it (`async_copies.py`)."""

TF32 = "nestor.tf32"
"""Of a function: tensor cores may round the factors of its products to 19 bits, as the user granted."""

# ---- accesses, barriers, buffers ----------------------------------------------------------------------

NONTEMPORAL = "nestor.nontemporal"
"""Of a store: it passes the caches. Nothing may depend on when; nest-stream sets it where nothing reads it soon."""

WRITE = "nestor.write"
"""Of a prefetch: the element is going to be written."""

COPIES = "nestor.copies"
"""Of a barrier: how many groups of asynchronous copies may be under way behind it. nest-insert-barriers proves it."""

NO_COPIES = "nestor.no_copies"
"""Of a group of asynchronous copies: it is made to be waited for only, all copies being in groups already."""

ARENA = "nestor.arena"
"""Of an allocation: the temporaries of a GPU program live in it (gpu-plan-memory)."""

NOALIAS = "nestor.noalias"
"""Of an argument: no other argument reaches its memory. Set where there is no `nest.alias_set`."""

INDEX_BITS = "nestor.index_bits"
"""Of a GPU module: how wide its indices are. 32 is chosen where every buffer is small enough, which launches check."""

FROZEN_FUNCTION = "nestor.frozen"
"""Of a function: what fills its last arguments once, and from which arguments."""

OUTLINED = "nestor.outlined"
"""Of a function, and of calls of it: what the function that calls it repeats. It touches its arguments alone, writes
those with a role, and cannot fail but for want of memory. nest-outline-repeated makes both."""

MATH_FUNCTION = "nestor.math"
"""Of a function: it computes one value from others and nothing else. expand-math makes it, for what is computed often."""

# ---- checks that can fail at run time -----------------------------------------------------------------

SITES = "nestor.sites"
"""Of a function: the table of its checks."""

SITE = "nestor.site"
"""Of a check: its number in that table."""

KIND = "nestor.kind"
"""Of a `cf.assert` or a call: the exception that it raises."""

RAISES = "nestor.raises"
"""Of a `raise`: the number of what it raises (`frontend/values/exceptions.py`)."""

EXCEPTION = "nestor.exception"
"""Of a `raise` that is a call: the text of what it raises, as the message of a `cf.assert` is."""

GOES_ON = "nestor.goes_on"
"""Of a `cf.assert` of a kernel: a failure is recorded, and the thread goes on."""

CUSTOM_CALL = "nestor.custom_call"
"""Of a declaration: Python answers its calls."""

OWN_KERNEL = "nestor.own_kernel"
"""Of a kernel: its text is the user's; the name, the types and the facts of the declaration that says so."""
