// What has no CUDA C is refused with the operation at fault.
// RUN: opt-tool %s -t cuda --verify-diagnostics --split-input-file

gpu.module @k {
  gpu.func @global_memory() kernel {
    // expected-error @below {{a kernel cannot allocate global memory}}
    %0 = memref.alloc() : memref<8xf32>
    gpu.return
  }
}

// -----

gpu.module @k {
  gpu.func @unknown_op() kernel {
    // expected-error @below {{gpu.subgroup_id cannot be printed as CUDA C}}
    %0 = "gpu.subgroup_id"() : () -> index
    gpu.return
  }
}

// -----

gpu.module @k {
  gpu.func @no_site(%ok: i1) kernel {
    // expected-error @below {{nestor.kind must be one of IndexError}}
    cf.assert %ok, "no kind"
    gpu.return
  }
}

// -----

gpu.module @k {
  gpu.func @short_fma(%x: memref<8xf16>) kernel {
    %i = gpu.thread_id x
    %0 = memref.load %x[%i] : memref<8xf16>
    // expected-error @below {{a fused multiply-add of f16 would be rounded twice}}
    %1 = math.fma %0, %0, %0 : f16
    memref.store %1, %x[%i] : memref<8xf16>
    gpu.return
  }
}

// -----

// expected-error @below {{nestor.index_bits is 48 : i64; it is 32 or 64}}
gpu.module @width attributes {nestor.index_bits = 48 : i64} {
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @type {
  gpu.func @g(%x: memref<8xf32>) kernel {
    %i = gpu.thread_id x
    // expected-error @below {{CUDA C has no type for i3}}
    %a = arith.index_cast %i : index to i3
    %b = arith.index_cast %a : i3 to index
    %c = memref.load %x[%b] : memref<8xf32>
    memref.store %c, %x[%i] : memref<8xf32>
    gpu.return
  }
}
