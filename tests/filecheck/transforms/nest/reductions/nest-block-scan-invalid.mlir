// Running results that are not computed in blocks, and why.
// RUN: opt-tool %s -p 'nest-block-scan{loop=i factor=16}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %s -p 'nest-block-scan{loop=i factor=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=FACTOR
// FACTOR: cannot block the scan of the loop "i": blocks of 0 iterations are none

func.func @never_read(%x: memref<64xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot block the scan of the loop "i": no iteration reads the result so far}}
  nest.for "i" %i = 0 to 64 {
    %a = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @in_order(%x: memref<64xf32>, %y: memref<64xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot block the scan of the loop "i": its reduction has no named combiner that may run in any order}}
  nest.for "i" %i = 0 to 64 {
    %a = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %s[] order(sequential) : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func @set_again(%x: memref<64xf32>, %y: memref<64xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot block the scan of the loop "i": the reduction's buffer is used in another way}}
  nest.for "i" %i = 0 to 64 {
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<64xf32>
    %a = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %s[] : memref<f32>
    // expected-note @below {{here}}
    nest.store "s" %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @in_place(%x: memref<64xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot block the scan of the loop "i": what is accumulated is read from memory that the loop writes}}
  nest.for "i" %i = 0 to 64 {
    // expected-note @below {{here}}
    %a = nest.load %x[%i] : memref<64xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "x" %b, %x[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func @moving(%x: memref<64xf32>, %y: memref<64xf32>, %s: memref<64xf32>) {
  // expected-error @below {{cannot block the scan of the loop "i": the reduction's element is not the same in all iterations}}
  nest.for "i" %i = 0 to 64 {
    %a = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %s[%i] : memref<64xf32>
    %b = nest.load %s[%i] : memref<64xf32>
    nest.store "y" %b, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func @two(%x: memref<64xf32>, %y: memref<64xf32>, %s: memref<f32>, %t: memref<f32>) {
  // expected-error @below {{cannot block the scan of the loop "i": it has 2 reductions, and one is expected}}
  nest.for "i" %i = 0 to 64 {
    %a = nest.load %x[%i] : memref<64xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    nest.accumulate "t" add %a, %t[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func @around(%x: memref<64xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot block the scan of the loop "i": its body is more than loads, stores and computations}}
  nest.for "i" %i = 0 to 64 {
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[%j] : memref<64xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
  }
  func.return
}

// -----

func.func @some(%n: index, %x: memref<64xf32>, %y: memref<64xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot block the scan of the loop "i": its reduction leaves out iterations}}
  nest.for "i" %i = 0 to 64 {
    %a = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %s[] where (%n - %i - 1 >= 0) : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func @marked(%x: memref<64xf32>, %y: memref<64xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot block the scan of the loop "i": it is unrolled already}}
  nest.for "i" %i = 0 to 64 unrolled {
    %a = nest.load %x[%i] : memref<64xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func @in_lanes(%x: memref<64x16xf32>, %y: memref<64x16xf32>, %s: memref<16xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "j" %j = 0 to 16 vectorized(16) {
    // expected-error @below {{cannot block the scan of the loop "i": it is inside of the vectorized loop "j"}}
    nest.for "i" %i = 0 to 64 {
      %a = nest.load %x[%i, %j] : memref<64x16xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<16xf32>
      %b = nest.load %s[%j] : memref<16xf32>
      nest.store "y" %b, %y[%i, %j] : memref<64x16xf32>
    }
  }
  func.return
}

// -----

func.func @aliases(%x: memref<64xf32> {nest.alias_set = 0 : i64}, %y: memref<64xf32> {nest.alias_set = 0 : i64}, %s: memref<f32>) {
  // expected-error @below {{cannot block the scan of the loop "i": what is accumulated is read from memory that the loop writes}}
  nest.for "i" %i = 0 to 64 {
    // expected-note @below {{here}}
    %a = nest.load %x[%i] : memref<64xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<64xf32>
  }
  func.return
}
