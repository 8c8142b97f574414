// Short columns: their sums and what is computed with them are one kernel; a block has its columns from the first to the last.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' --split-input-file | filecheck %s

// The sums stay in shared memory; the root of them, too. No buffer of them is left.
// CHECK-LABEL: @normalised
// CHECK-NOT:   nest.alloc {{.*}} memref<77xf32>
// CHECK:       nest.for "j.o" [[O:%\S+]] = 0 to 3 bind "block.x" {
// CHECK:         [[SUMS:%\S+]] = nest.alloc "s_block" : memref<32xf32, 3 : i64>
// CHECK:         nest.for "row" {{.*}} = 0 to 16 bind "thread.y" {
// CHECK:           nest.accumulate "s"
// CHECK:         nest.barrier
// CHECK:         math.sqrt
// CHECK:         nest.barrier
// CHECK:         nest.for "row.1" [[Y:%\S+]] = 0 to 16 bind "thread.y" {
// CHECK-NEXT:      nest.for "column{{[^"]*}}" [[X:%\S+]] = 0 to 32 bind "thread.x" {
// CHECK:             nest.load [[SUMS]][[[X]]]
// CHECK:             nest.for "k.o" [[K:%\S+]] = 0 to 19 {
// CHECK:               nest.store "y" {{%\S+}}, %y[16 * [[K]] + [[Y]], 32 * [[O]] + [[X]]] where
// CHECK-NOT:   bind "block.x"
func.func @normalised(%x: memref<300x77xf32>, %y: memref<300x77xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<77xf32>
  nest.for "j" %j = 0 to 77 {
    nest.store "s" %zero, %s[%j] : memref<77xf32>
  }
  nest.for "i" %i = 0 to 300 {
    nest.for "j.1" %j = 0 to 77 {
      %v = nest.load %x[%i, %j] : memref<300x77xf32>
      nest.accumulate "s" add %v, %s[%j] : memref<77xf32>
    }
  }
  nest.for "j.2" %j = 0 to 77 {
    %v = nest.load %s[%j] : memref<77xf32>
    %r = math.sqrt %v : f32
    nest.store "s" %r, %s[%j] : memref<77xf32>
  }
  nest.for "k" %k = 0 to 300 {
    nest.for "l" %l = 0 to 77 {
      %v = nest.load %x[%k, %l] : memref<300x77xf32>
      %w = nest.load %s[%l] : memref<77xf32>
      %q = arith.divf %v, %w : f32
      nest.store "y" %q, %y[%k, %l] : memref<300x77xf32>
    }
  }
  func.return
}

// -----

// Sums that the caller gets are stored as well, once they are complete.
// CHECK-LABEL: @result_as_well
// CHECK:       bind "block.x"
// CHECK:         nest.store "s" {{%\S+}}, %s[
// CHECK-NOT:   bind "block.x"
func.func @result_as_well(%x: memref<40x64xf32>, %y: memref<40x64xf32>, %s: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "j" %j = 0 to 64 {
    nest.store "s" %zero, %s[%j] : memref<64xf32>
  }
  nest.for "i" %i = 0 to 40 {
    nest.for "j.1" %j = 0 to 64 {
      %v = nest.load %x[%i, %j] : memref<40x64xf32>
      nest.accumulate "s" add %v, %s[%j] : memref<64xf32>
    }
  }
  nest.for "k" %k = 0 to 40 {
    nest.for "l" %l = 0 to 64 {
      %v = nest.load %x[%k, %l] : memref<40x64xf32>
      %w = nest.load %s[%l] : memref<64xf32>
      %q = arith.subf %v, %w : f32
      nest.store "y" %q, %y[%k, %l] : memref<40x64xf32>
    }
  }
  func.return
}

// -----

// Long columns are shared by blocks, and another kernel goes on.
// CHECK-LABEL: @long
// CHECK:       bind "block.x"
// CHECK:       bind "block.x"
// CHECK:       nest.for "k.o" {{.*}} bind "block.y" {
func.func @long(%x: memref<9000x64xf32>, %y: memref<9000x64xf32>, %s: memref<64xf32>) {
  nest.for "i" %i = 0 to 9000 {
    nest.for "j.1" %j = 0 to 64 {
      %v = nest.load %x[%i, %j] : memref<9000x64xf32>
      nest.accumulate "s" add %v, %s[%j] : memref<64xf32>
    }
  }
  nest.for "k" %k = 0 to 9000 {
    nest.for "l" %l = 0 to 64 {
      %v = nest.load %x[%k, %l] : memref<9000x64xf32>
      %w = nest.load %s[%l] : memref<64xf32>
      %q = arith.subf %v, %w : f32
      nest.store "y" %q, %y[%k, %l] : memref<9000x64xf32>
    }
  }
  func.return
}

// -----

// What has an element of another column is another kernel.
// CHECK-LABEL: @neighbours
// CHECK:       bind "block.x" {
// CHECK:       nest.for "k{{.*}} bind "block.{{[xy]}}" {
func.func @neighbours(%x: memref<40x64xf32>, %y: memref<40x64xf32>, %s: memref<64xf32>) {
  nest.for "i" %i = 0 to 40 {
    nest.for "j.1" %j = 0 to 64 {
      %v = nest.load %x[%i, %j] : memref<40x64xf32>
      nest.accumulate "s" add %v, %s[%j] : memref<64xf32>
    }
  }
  nest.for "k" %k = 0 to 40 {
    nest.for "l" %l = 0 to 64 {
      %v = nest.load %x[%k, %l] : memref<40x64xf32>
      %w = nest.load %s[-1 * %l + 63] : memref<64xf32>
      %q = arith.subf %v, %w : f32
      nest.store "y" %q, %y[%k, %l] : memref<40x64xf32>
    }
  }
  func.return
}

// -----

// A line of other columns right before the sum is a kernel of its own.
// CHECK-LABEL: @after_another_line
// CHECK:       nest.for "a.o" {{.*}} bind "block.x"
// CHECK:       nest.for "j{{.*}} bind "block.x"
func.func @after_another_line(%x: memref<40x64xf32>, %y: memref<40x64xf32>, %s: memref<64xf32>, %z: memref<50xf32>) {
  nest.for "a" %a = 0 to 50 {
    %v = nest.load %z[%a] : memref<50xf32>
    %w = arith.addf %v, %v : f32
    nest.store "z" %w, %z[%a] : memref<50xf32>
  }
  nest.for "i" %i = 0 to 40 {
    nest.for "j" %j = 0 to 64 {
      %v = nest.load %x[%i, %j] : memref<40x64xf32>
      nest.accumulate "s" add %v, %s[%j] : memref<64xf32>
    }
  }
  nest.for "k" %k = 0 to 40 {
    nest.for "l" %l = 0 to 64 {
      %v = nest.load %x[%k, %l] : memref<40x64xf32>
      %w = nest.load %s[%l] : memref<64xf32>
      %q = arith.subf %v, %w : f32
      nest.store "y" %q, %y[%k, %l] : memref<40x64xf32>
    }
  }
  func.return
}
