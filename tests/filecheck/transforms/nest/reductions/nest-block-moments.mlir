// A sum and the squares around its mean are taken a part at a time, of all terms or of those of each column.
// RUN: opt-tool %s -p 'nest-block-moments{sums=i squares=i.1 parts=4}' --split-input-file | filecheck %s

// The squares of a part are around its own mean; around that of all they are more, by what the difference makes.
// CHECK-LABEL: @plain
// CHECK: [[SUMS:%\S+]] = nest.alloc "s_parts" : memref<4xf32>
// CHECK: [[SQUARES:%\S+]] = nest.alloc "q_parts" : memref<4xf32>
// CHECK: [[REST:%\S+]] = nest.alloc "rest" : memref<4xf32>
// CHECK: [[CENTRE:%\S+]] = nest.alloc "centre" : memref<4xf32>
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 4 {
// CHECK: nest.for "i" {{%\S+}} = 3 * [[P]] to 3 * [[P]] + 3 {
// CHECK: nest.accumulate "s" add {{%\S+}}, [[SUMS]]{{\[}}[[P]]]
// CHECK: nest.store "rest" {{%\S+}}, [[REST]]{{\[}}[[P]]]
// CHECK: [[THREE:%\S+]] = arith.constant 3.000000e+00 : f32
// CHECK-NEXT: [[MEAN:%\S+]] = arith.divf {{%\S+}}, [[THREE]] : f32
// CHECK-NEXT: nest.store "centre" [[MEAN]], [[CENTRE]]{{\[}}[[P]]]
// CHECK: nest.for "i.1" {{%\S+}} = 3 * [[P]] to 3 * [[P]] + 3 {
// CHECK: [[C:%\S+]] = nest.load [[CENTRE]]{{\[}}[[P]]]
// CHECK-NEXT: [[D:%\S+]] = arith.subf {{%\S+}}, [[C]] : f32
// CHECK-NEXT: [[E:%\S+]] = arith.mulf [[D]], [[D]] : f32
// CHECK-NEXT: nest.accumulate "rest" add [[D]], [[REST]]{{\[}}[[P]]]
// CHECK-NEXT: nest.accumulate "q" add [[E]], [[SQUARES]]{{\[}}[[P]]]
// CHECK: nest.for "i.combine"
// CHECK: nest.accumulate "s" add
// CHECK: [[ALL:%\S+]] = arith.divf
// CHECK: nest.for "i.1.combine" [[K:%\S+]] = 0 to 4 {
// CHECK-NEXT: [[Q:%\S+]] = nest.load [[SQUARES]]{{\[}}[[K]]]
// CHECK-NEXT: [[T:%\S+]] = nest.load [[SUMS]]{{\[}}[[K]]]
// CHECK-NEXT: [[R:%\S+]] = nest.load [[REST]]{{\[}}[[K]]]
// CHECK: [[C:%\S+]] = arith.divf [[T]], {{%\S+}} : f32
// CHECK-NEXT: [[GAP:%\S+]] = arith.subf [[C]], [[ALL]] : f32
// CHECK-NEXT: [[TWICE:%\S+]] = arith.addf [[R]], [[R]] : f32
// CHECK: [[MOVED:%\S+]] = arith.mulf {{%\S+}}, [[GAP]] : f32
// CHECK-NEXT: [[BOTH:%\S+]] = arith.addf [[TWICE]], [[MOVED]] : f32
// CHECK-NEXT: [[MORE:%\S+]] = arith.mulf [[GAP]], [[BOTH]] : f32
// CHECK-NEXT: [[TOTAL:%\S+]] = arith.addf [[Q]], [[MORE]] : f32
// CHECK-NEXT: nest.accumulate "q" add [[TOTAL]], %q[]
func.func @plain(%x: memref<15xf32>, %m: memref<f32>, %q: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 12.0 : f32
  %s = nest.alloc "s" : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<15xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  %t = nest.load %s[] : memref<f32>
  %mean = arith.divf %t, %n : f32
  nest.store "m" %mean, %m[] : memref<f32>
  nest.store "q" %zero, %q[] : memref<f32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<15xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

// Columns: what is subtracted is computed in the loop, from the column's sum, and now where the parts are taken together.
// CHECK-LABEL: @columns
// CHECK: [[SUMS:%\S+]] = nest.alloc "s_parts" : memref<4x5xf64>
// CHECK: [[CENTRE:%\S+]] = nest.alloc "centre" : memref<4x5xf64>
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 4 {
// CHECK: nest.for "i.1" {{%\S+}} = 2 * [[P]] + 3 to 2 * [[P]] + 5 {
// CHECK-NEXT: nest.for "j.1" [[J:%\S+]] = 0 to 5 {
// CHECK-NOT: arith.divf
// CHECK: nest.load [[CENTRE]]{{\[}}[[P]], [[J]]]
// CHECK: nest.for "i.1.combine" [[K:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.for "i.1.combine.ax0" [[A:%\S+]] = 0 to 5 {
// CHECK: [[S:%\S+]] = nest.load %s{{\[}}[[A]]]
// CHECK-NEXT: [[MEAN:%\S+]] = arith.divf [[S]], %n : f64
// CHECK: [[T:%\S+]] = nest.load [[SUMS]]{{\[}}[[K]], [[A]]]
// CHECK: [[C:%\S+]] = arith.divf [[T]]
// CHECK: arith.subf [[C]], [[MEAN]] : f64
func.func @columns(%x: memref<11x5xf32>, %n: f64, %s: memref<5xf64>, %q: memref<5xf64>) {
  nest.for "i" %i = 3 to 11 {
    nest.for "j" %j = 0 to 5 {
      %a = nest.load %x[%i, %j] : memref<11x5xf32>
      %w = arith.extf %a : f32 to f64
      nest.accumulate "s" add %w, %s[%j] : memref<5xf64>
    }
  }
  nest.for "i.1" %i = 3 to 11 {
    nest.for "j.1" %j = 0 to 5 {
      %t = nest.load %s[%j] : memref<5xf64>
      %mean = arith.divf %t, %n : f64
      %a = nest.load %x[%i, %j] : memref<11x5xf32>
      %w = arith.extf %a : f32 to f64
      %d = arith.subf %w, %mean : f64
      %e = arith.mulf %d, %d : f64
      nest.accumulate "q" add %e, %q[%j] : memref<5xf64>
    }
  }
  func.return
}

// -----

// The last part has fewer terms. What sets the sums comes after the parts, to where they are taken together.
// CHECK-LABEL: @uneven
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 4 {
// CHECK: nest.for "i" {{%\S+}} = 4 * [[P]] to min(4 * [[P]] + 4, 14) {
// CHECK: [[FOUR:%\S+]] = arith.constant 4.000000e+00 : f32
// CHECK: [[TWO:%\S+]] = arith.constant 2.000000e+00 : f32
// CHECK: [[LAST:%\S+]] = arith.constant 3 : index
// CHECK: [[IS_LAST:%\S+]] = arith.cmpi eq, [[P]], [[LAST]] : index
// CHECK: [[COUNT:%\S+]] = arith.select [[IS_LAST]], [[TWO]], [[FOUR]] : f32
// CHECK: arith.divf {{%\S+}}, [[COUNT]] : f32
// CHECK: nest.for "i.1" {{%\S+}} = 4 * [[P]] to min(4 * [[P]] + 4, 14) {
// CHECK: nest.for "start"
// CHECK: nest.for "i.combine"
// CHECK: nest.for "i.1.combine" [[K:%\S+]] = 0 to 4 {
// CHECK: arith.cmpi eq, [[K]]
func.func @uneven(%x: memref<14x5xf32>, %n: f32, %s: memref<5xf32>, %q: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "start" %j = 0 to 5 {
    nest.store "s" %zero, %s[%j] : memref<5xf32>
  }
  nest.for "i" %i = 0 to 14 {
    nest.for "j" %j = 0 to 5 {
      %a = nest.load %x[%i, %j] : memref<14x5xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<5xf32>
    }
  }
  nest.for "i.1" %i = 0 to 14 {
    nest.for "j.1" %j = 0 to 5 {
      %t = nest.load %s[%j] : memref<5xf32>
      %mean = arith.divf %t, %n : f32
      %a = nest.load %x[%i, %j] : memref<14x5xf32>
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %d : f32
      nest.accumulate "q" add %e, %q[%j] : memref<5xf32>
    }
  }
  func.return
}
