"""The PTX of the prelude: asynchronous copies to shared memory, and products of matrices by tensor cores.

    nt_copy_async16(&tile[row][col], &x[i * n + k]);     16 bytes, on their way while the thread continues
    nt_commit_copies();                                  the copies so far are a group
    nt_wait_copies<1>();                                 all groups but the last one have arrived
    nt_load_matrix_x4(a, &tile[row][col]);               four 8 x 8 matrices of 16-bit elements to the registers of a warp
    nt_load_matrix_x4_pair(b, c, &tile[row][col]);       two of them to each of two fragments
    nt_round_tf32(a);                                    floats of 32 bits to what m16n8k8_tf32 multiplies
    nt_mma_m16n8k16_f16(sum, a, b);                      sum += a * b, by a warp

The simulator has these functions in runtime/cuda_sim/tensor_cores.h; everything else of a kernel it runs as it is.
Products need an architecture of sm_80 or later. Copies are made at once on earlier ones.
"""

from __future__ import annotations

_COPY = """\
static __device__ void nt_copy_async{bytes}(void *shared, const void *global, int bytes = {bytes}) {{  // then zeros
#if __CUDA_ARCH__ >= 800
  const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.{cache}.shared.global [%0], [%1], {bytes}, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
#else  // at once
  {type} copied = {{}};
  if (bytes == {bytes}) copied = *(const {type} *)global;
  else for (int k = 0; k < bytes; k++) ((char *)&copied)[k] = ((const char *)global)[k];
  *({type} *)shared = copied;
#endif
}}"""

_LOAD_MATRIX = """\
static __device__ void nt_load_matrix_x{count}{suffix}({fragments}, const void *row) {{
  const unsigned from = (unsigned)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{places}}}, [%{count}];"
               : {registers}
               : "r"(from)
               : "memory");
}}"""

_MMA = """\
static __device__ void nt_mma_{shape}_{name}({c} (&sum)[2][2], const unsigned (&a)[4], const unsigned (&b)[2]) {{
  asm("mma.sync.aligned.{shape}.row.col.{types} "
      "{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
      : "+{k}"(sum[0][0]), "+{k}"(sum[0][1]), "+{k}"(sum[1][0]), "+{k}"(sum[1][1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}}"""


def _load_matrix(count: int, transposed: bool, names: tuple[str, ...] = ("fragment",)) -> str:
    """Loads matrices to the registers of one fragment, or of several in equal parts."""
    each = count // len(names)
    registers = ", ".join(f'"=r"({name}[{k}])' for name in names for k in range(each))
    return _LOAD_MATRIX.format(
        count=count,
        suffix=("_pair" if len(names) > 1 else "") + ("_trans" if transposed else ""),
        trans=".trans" if transposed else "",
        fragments=", ".join(f"unsigned (&{name})[{each}]" for name in names),
        places=", ".join(f"%{k}" for k in range(count)),
        registers=registers,
    )


def _mma(shape: str, name: str, types: str, integer: bool = False) -> str:
    c, k = ("int", "r") if integer else ("float", "f")
    return _MMA.format(shape=shape, name=name, types=types, c=c, k=k)


PTX_HELPERS: dict[str, str] = {
    **{
        f"nt_copy_async{n}": _COPY.format(
            bytes=n, type=t, cache="cg" if n == 16 else "ca"
        )  # only 16 may bypass L1
        for n, t in ((16, "int4"), (8, "int2"), (4, "int"))
    },
    "nt_commit_copies": """\
static __device__ void nt_commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}""",
    "nt_wait_copies": """\
template <int N> static __device__ void nt_wait_copies() {  // until at most N groups are under way
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}""",
    **{
        f"nt_load_matrix_x{n}{'_trans' if t else ''}": _load_matrix(n, t)
        for n in (4, 2)
        for t in (False, True)
    },
    **{
        f"nt_load_matrix_x4_pair{'_trans' if t else ''}": _load_matrix(4, t, ("first", "second"))
        for t in (False, True)
    },
    "nt_round_tf32": """\
template <int N> static __device__ void nt_round_tf32(unsigned (&fragment)[N]) {  // to nearest, ties away from zero
  #pragma unroll
  for (int k = 0; k < N; k++)
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(fragment[k]) : "f"(__uint_as_float(fragment[k])));
}""",
    "nt_mma_m16n8k16_f16": _mma("m16n8k16", "f16", "f32.f16.f16.f32"),
    "nt_mma_m16n8k16_bf16": _mma("m16n8k16", "bf16", "f32.bf16.bf16.f32"),
    "nt_mma_m16n8k8_tf32": _mma("m16n8k8", "tf32", "f32.tf32.tf32.f32"),
    "nt_mma_m16n8k32_s8": _mma("m16n8k32", "s8", "s32.s8.s8.s32", integer=True),
}
"""The functions by name."""


def guarded(texts: list[str]) -> list[str]:
    """What the prelude prints for some of them: NVRTC and nvcc see it, the simulator does not."""
    return ["#ifdef __CUDACC__  // the simulator brings its own", *texts, "#endif"] if texts else []
