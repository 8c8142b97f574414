"""nt-fuse: group pure tensor operations into `nt.fusion` regions, each of which becomes one loop nest.

    %m = nt.reduce maximum %x over [1] : tensor<?x?xf32> -> tensor<?xf32>
    %0 = nt.broadcast %m along [0] sizes(%c) : tensor<?xf32> -> tensor<?x?xf32>
    %1 = nt.subtract %x, %0 : tensor<?x?xf32>
    %e = nt.exp %1 : tensor<?x?xf32>
  becomes
    %e = nt.fusion "e" {
      %m = nt.reduce maximum %x over [1] : tensor<?x?xf32> -> tensor<?xf32>
      %0 = nt.broadcast %m along [0] sizes(%c) : tensor<?xf32> -> tensor<?x?xf32>
      %1 = nt.subtract %x, %0 : tensor<?x?xf32>
      %2 = nt.exp %1 : tensor<?x?xf32>
      nt.yield %2 : tensor<?x?xf32>
    } : tensor<?x?xf32>

What a conversion may rely on. Axes of values are tied together through operands and results (elementwise: axis k to axis k;
broadcast: along; transpose: perm; reduce: the kept axes); extents of 1 are tied to nothing. Each class of tied axes is a
dimension of the fusion.

* After the pass every elementwise op, cast and reduction is in a fusion, alone if need be. Broadcasts, transposes, slices,
  constants and `nt.from_scalar` are in the fusions that use them (copied where several do), or in one of their own when a
  return, an island or a reshape needs them. Only reshapes (other than of extents of 1) stay outside, as views or copies.
* SPACE. Some value of the fusion has all dimensions, no value has one twice, and every other value has a subset. So a fusion
  is loops over its space in which each value is computed at the point of its dimensions.
* SPACE = ROWS x REDUCED. All reductions of one fusion take operands over the full space and reduce the same dimensions; the
  others are the rows (none, for a whole-array reduction). Values that depend on a reduction may be over the rows ("e / sum":
  the second pass over a row) or over the full space. With no reduction all dimensions are rows.
* ORDER. The order of the dimensions is that of the axes of the (first) reduction's operand, rows first, then the reduced; with
  no reduction that of the last full value. A value over a leading part of it can be computed once, outside the inner loops.
  Any other value over fewer dimensions is recomputed along the missing ones: it is only inside when all its uses
  are, and cheap (no divide, sqrt, exp ... and no reduction); otherwise it is a fusion of its own before this one.
  So `(3)+(3)+(3x1000)` and `(1000)+(1000)+(3x1000)` are one loop nest each, `exp((1000))+(3x1000)` is two.
* SLICES read values from outside the fusion only (and so do broadcasts and transposes of slices): the points of a computed
  value never shift. A value that is sliced is a result of one fusion and an operand of the next.
* Operations are in topological order. Results are what is used outside, over the full space or a leading part of ORDER. The
  label is the Python name of the first result.

Fusions never span an operation with effects: islands (`nt.loops`), calls, control flow. What reads a function argument stays on
its side of an island that may write it. Between two such barriers, operations that only share operands are fused
as well when their spaces agree ("sibling" fusion: one pass over the memory that both read).
"""
