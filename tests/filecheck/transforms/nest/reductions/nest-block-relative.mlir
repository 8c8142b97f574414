// A reduction and the sum relative to it are done a part at a time, of all terms or of those of each column.
// RUN: opt-tool %s -p 'nest-block-relative{bases=i sums=i.1 parts=4}' --split-input-file | filecheck %s

// The squares of a part are around its own mean; around that of all they are more, by what the difference makes.
// CHECK-LABEL: @plain
// CHECK: [[SUMS:%\S+]] = nest.alloc "s_parts" : memref<4xf32>
// CHECK: [[SQUARES:%\S+]] = nest.alloc "q_parts" : memref<4xf32>
// CHECK: [[BASE:%\S+]] = nest.alloc "q_base" : memref<4xf32>
// CHECK: [[POWER:%\S+]] = nest.alloc "q_power" : memref<4xf32>
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 4 {
// CHECK: nest.for "i" {{%\S+}} = 3 * [[P]] to 3 * [[P]] + 3 {
// CHECK: nest.accumulate "s" add {{%\S+}}, [[SUMS]]{{\[}}[[P]]]
// CHECK: nest.store "power" {{%\S+}}, [[POWER]]{{\[}}[[P]]]
// CHECK: [[THREE:%\S+]] = arith.constant 3.000000e+00 : f32
// CHECK-NEXT: [[MEAN:%\S+]] = arith.divf {{%\S+}}, [[THREE]] : f32
// CHECK-NEXT: nest.store "base" [[MEAN]], [[BASE]]{{\[}}[[P]]]
// CHECK: nest.for "i.1" {{%\S+}} = 3 * [[P]] to 3 * [[P]] + 3 {
// CHECK: [[C:%\S+]] = nest.load [[BASE]]{{\[}}[[P]]]
// CHECK-NEXT: [[D:%\S+]] = arith.subf {{%\S+}}, [[C]] : f32
// CHECK-NEXT: [[E:%\S+]] = arith.mulf [[D]], [[D]] : f32
// CHECK-NEXT: nest.accumulate "power" add [[D]], [[POWER]]{{\[}}[[P]]]
// CHECK-NEXT: nest.accumulate "q" add [[E]], [[SQUARES]]{{\[}}[[P]]]
// CHECK: nest.for "i.combine"
// CHECK: nest.accumulate "s" add
// CHECK: [[ALL:%\S+]] = arith.divf
// CHECK: nest.for "i.1.combine" [[K:%\S+]] = 0 to 4 {
// CHECK-NEXT: [[Q:%\S+]] = nest.load [[SQUARES]]{{\[}}[[K]]]
// CHECK-NEXT: [[T:%\S+]] = nest.load [[SUMS]]{{\[}}[[K]]]
// CHECK: [[C:%\S+]] = arith.divf [[T]], {{%\S+}} : f32
// CHECK-NEXT: [[SHIFT:%\S+]] = arith.subf [[C]], [[ALL]] : f32
// CHECK-NEXT: [[P1:%\S+]] = nest.load [[POWER]]{{\[}}[[K]]]
// CHECK: [[TWICE:%\S+]] = arith.addf [[P1]], [[P1]] : f32
// CHECK-NEXT: [[MOVED:%\S+]] = arith.mulf [[SHIFT]], {{%\S+}} : f32
// CHECK-NEXT: [[BOTH:%\S+]] = arith.addf [[TWICE]], [[MOVED]] : f32
// CHECK-NEXT: [[MORE:%\S+]] = arith.mulf [[SHIFT]], [[BOTH]] : f32
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
// CHECK: [[BASE:%\S+]] = nest.alloc "q_base" : memref<4x5xf64>
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 4 {
// CHECK: nest.for "i.1" {{%\S+}} = 2 * [[P]] + 3 to 2 * [[P]] + 5 {
// CHECK-NEXT: nest.for "j.1" [[J:%\S+]] = 0 to 5 {
// CHECK-NOT: arith.divf
// CHECK: nest.load [[BASE]]{{\[}}[[P]], [[J]]]
// CHECK: nest.for "i.1.combine" [[K:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.for "i.1.combine.ax0" [[A:%\S+]] = 0 to 5 {
// CHECK: [[T:%\S+]] = nest.load [[SUMS]]{{\[}}[[K]], [[A]]]
// CHECK: [[C:%\S+]] = arith.divf [[T]]
// CHECK-NEXT: [[S:%\S+]] = nest.load %s{{\[}}[[A]]]
// CHECK-NEXT: [[MEAN:%\S+]] = arith.divf [[S]], %n : f64
// CHECK-NEXT: arith.subf [[C]], [[MEAN]] : f64
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

// -----

// The exponentials of a part are less its own maximum, or the finite number next to it; of all they are so much less. What
// is stored is computed once more.
// CHECK-LABEL: @stored
// CHECK: [[MAXIMA:%\S+]] = nest.alloc "m_parts" : memref<4xf32>
// CHECK: [[SUMS:%\S+]] = nest.alloc "q_parts" : memref<4xf32>
// CHECK: [[BASE:%\S+]] = nest.alloc "q_base" : memref<4xf32>
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 4 {
// CHECK: nest.for "i" {{%\S+}} = 3 * [[P]] to 3 * [[P]] + 3 {
// CHECK: nest.accumulate "m" maximum {{%\S+}}, [[MAXIMA]]{{\[}}[[P]]]
// CHECK: [[OWN:%\S+]] = nest.load [[MAXIMA]]{{\[}}[[P]]]
// CHECK: [[ABOVE:%\S+]] = arith.maxnumf [[OWN]], {{%\S+}} : f32
// CHECK: [[FINITE:%\S+]] = arith.minnumf [[ABOVE]], {{%\S+}} : f32
// CHECK-NEXT: nest.store "base" [[FINITE]], [[BASE]]{{\[}}[[P]]]
// CHECK: nest.for "i.1" {{%\S+}} = 3 * [[P]] to 3 * [[P]] + 3 {
// CHECK: [[B:%\S+]] = nest.load [[BASE]]{{\[}}[[P]]]
// CHECK-NEXT: arith.subf {{%\S+}}, [[B]] : f32
// CHECK-NOT: nest.store
// CHECK: nest.accumulate "q" add {{%\S+}}, [[SUMS]]{{\[}}[[P]]]
// CHECK: nest.for "i.combine"
// CHECK: [[ALL:%\S+]] = nest.load %m[]
// CHECK-NEXT: nest.for "i.1.combine" [[C:%\S+]] = 0 to 4 {
// CHECK-NEXT: [[S:%\S+]] = nest.load [[SUMS]]{{\[}}[[C]]]
// CHECK-NEXT: [[M:%\S+]] = nest.load [[MAXIMA]]{{\[}}[[C]]]
// CHECK: [[FINITE:%\S+]] = arith.minnumf {{%\S+}}, {{%\S+}} : f32
// CHECK-NEXT: [[SHIFT:%\S+]] = arith.subf [[FINITE]], [[ALL]] : f32
// CHECK-NEXT: [[SCALE:%\S+]] = math.exp [[SHIFT]] : f32
// CHECK-NEXT: [[SCALED:%\S+]] = arith.mulf [[S]], [[SCALE]] : f32
// CHECK-NEXT: nest.accumulate "q" add [[SCALED]], %q[]
// CHECK: nest.for "i.1.rest" [[J:%\S+]] = 0 to 12 {
// CHECK: [[D:%\S+]] = arith.subf {{%\S+}}, [[ALL]] : f32
// CHECK-NEXT: [[E:%\S+]] = math.exp [[D]] : f32
// CHECK-NEXT: nest.store "e" [[E]], %y{{\[}}[[J]]]
func.func @stored(%x: memref<15xf32>, %y: memref<15xf32>, %q: memref<f32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<15xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  nest.store "q" %zero, %q[] : memref<f32>
  %maximum = nest.load %m[] : memref<f32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<15xf32>
    %d = arith.subf %a, %maximum : f32
    %e = math.exp %d : f32
    nest.store "e" %e, %y[%i] : memref<15xf32>
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

// Terms of 16 bits are relative to a maximum of 16 bits, scales have the 32 bits of the sum; nothing is stored.
// CHECK-LABEL: @short
// CHECK: nest.for "i" {{%\S+}} = 4 * [[P:%\S+]] + 2 to min(4 * [[P]] + 6, 15) {
// CHECK: [[FINITE:%\S+]] = arith.minnumf {{%\S+}}, {{%\S+}} : f16
// CHECK: nest.for "i.1"
// CHECK: arith.subf {{%\S+}}, {{%\S+}} : f16
// CHECK: [[LARGEST:%\S+]] = arith.select
// CHECK: nest.for "i.1.combine"
// CHECK: [[ALL:%\S+]] = arith.extf [[LARGEST]] : f16 to f32
// CHECK-NEXT: arith.subf {{%\S+}}, [[ALL]] : f32
// CHECK-NOT: "i.1.rest"
// CHECK: return
func.func @short(%x: memref<15xf16>, %m: memref<f16>, %q: memref<f32>) {
  %infinity = arith.constant 0x7C00 : f16
  %none = arith.constant 0.0 : f16
  nest.for "i" %i = 2 to 15 {
    %a = nest.load %x[%i] : memref<15xf16>
    nest.accumulate "m" maximum %a, %m[] : memref<f16>
  }
  %maximum = nest.load %m[] : memref<f16>
  %size = math.absf %maximum : f16
  %is_finite = arith.cmpf olt, %size, %infinity : f16
  %largest = arith.select %is_finite, %maximum, %none : f16
  nest.for "i.1" %i = 2 to 15 {
    %a = nest.load %x[%i] : memref<15xf16>
    %d = arith.subf %a, %largest : f16
    %e = math.exp %d : f16
    %w = arith.extf %e : f16 to f32
    nest.accumulate "q" add %w, %q[] : memref<f32>
  }
  func.return
}

// -----

// Of cubes, sums of the differences and of their squares are needed; the constant is made before the parts.
// CHECK-LABEL: @cubes
// CHECK: [[HALF:%\S+]] = arith.constant 5.000000e-01 : f64
// CHECK: [[POWER:%\S+]] = nest.alloc "q_power" : memref<4xf64>
// CHECK: [[POWER2:%\S+]] = nest.alloc "q_power2" : memref<4xf64>
// CHECK: nest.for "i.1"
// CHECK: [[D:%\S+]] = arith.subf
// CHECK: nest.accumulate "power" add [[D]], [[POWER]]
// CHECK-NEXT: [[D2:%\S+]] = arith.mulf [[D]], [[D]] : f64
// CHECK-NEXT: nest.accumulate "power2" add [[D2]], [[POWER2]]
// CHECK: nest.for "i.1.combine"
// CHECK: [[SHIFT:%\S+]] = arith.subf
// CHECK: [[FIRST:%\S+]] = arith.mulf {{%\S+}}, {{%\S+}} : f64
// CHECK: nest.accumulate "q" add
func.func @cubes(%x: memref<12xf64>, %c: memref<f64>, %s: memref<f64>, %q: memref<f64>) {
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf64>
    nest.accumulate "s" add %a, %s[] : memref<f64>
  }
  %half = arith.constant 0.5 : f64
  nest.for "i.1" %i = 0 to 12 {
    %b = nest.load %c[] : memref<f64>
    %a = nest.load %x[%i] : memref<12xf64>
    %d = arith.subf %a, %b : f64
    %e = arith.mulf %d, %d : f64
    %f = arith.mulf %e, %d : f64
    %g = arith.mulf %f, %half : f64
    nest.accumulate "q" add %g, %q[] : memref<f64>
  }
  func.return
}

// -----

// Powers of 2 of multiples of what a minimum is less than its terms, of each column.
// CHECK-LABEL: @below
// CHECK: nest.accumulate "m" minimum {{%\S+}}, %m_parts{{\[}}[[P:%\S+]], [[J:%\S+]]]
// CHECK: nest.for "i.1"
// CHECK: nest.for "j.1" [[J:%\S+]] = 0 to 3 {
// CHECK: [[BASE:%\S+]] = nest.load %q_base{{\[}}[[P]], [[J]]]
// CHECK-NEXT: arith.subf [[BASE]], {{%\S+}} : f32
// CHECK: nest.for "i.1.combine"
// CHECK: [[SHIFT:%\S+]] = arith.subf {{%\S+}}, {{%\S+}} : f32
// CHECK: [[TIMES:%\S+]] = arith.mulf [[SHIFT]], {{%\S+}} : f32
// CHECK-NEXT: math.exp2 [[TIMES]] : f32
func.func @below(%x: memref<8x3xf32>, %m: memref<3xf32>, %q: memref<3xf32>) {
  %half = arith.constant 0.5 : f32
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 3 {
      %a = nest.load %x[%i, %j] : memref<8x3xf32>
      nest.accumulate "m" minimum %a, %m[%j] : memref<3xf32>
    }
  }
  nest.for "i.1" %i = 0 to 8 {
    nest.for "j.1" %j = 0 to 3 {
      %c = nest.load %m[%j] : memref<3xf32>
      %a = nest.load %x[%i, %j] : memref<8x3xf32>
      %d = arith.subf %c, %a : f32
      %h = arith.mulf %d, %half : f32
      %e = math.exp2 %h : f32
      nest.accumulate "q" add %e, %q[%j] : memref<3xf32>
    }
  }
  func.return
}
