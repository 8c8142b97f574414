// A maximum and the sum of the exponentials less it are taken a part at a time; what is stored is computed again at the end.
// RUN: opt-tool %s -p 'nest-block-exponentials{maxima=i sums=i.1 parts=4}' --split-input-file | filecheck %s

// The exponentials of a part are less its own maximum, 0 where that is not finite; of all they are so much less.
// CHECK-LABEL: @plain
// CHECK: [[MAXIMA:%\S+]] = nest.alloc "m_parts" : memref<4xf32>
// CHECK: [[SUMS:%\S+]] = nest.alloc "q_parts" : memref<4xf32>
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 4 {
// CHECK: nest.for "i" {{%\S+}} = 3 * [[P]] to 3 * [[P]] + 3 {
// CHECK: nest.accumulate "m" maximum {{%\S+}}, [[MAXIMA]]{{\[}}[[P]]]
// CHECK: [[OWN:%\S+]] = nest.load [[MAXIMA]]{{\[}}[[P]]]
// CHECK-NEXT: [[SIZE:%\S+]] = math.absf [[OWN]] : f32
// CHECK: [[FINITE:%\S+]] = arith.cmpf olt, [[SIZE]], {{%\S+}} : f32
// CHECK-NEXT: [[SHIFT:%\S+]] = arith.select [[FINITE]], [[OWN]], {{%\S+}} : f32
// CHECK-NEXT: nest.for "i.1" {{%\S+}} = 3 * [[P]] to 3 * [[P]] + 3 {
// CHECK: arith.subf {{%\S+}}, [[SHIFT]] : f32
// CHECK-NOT: nest.store
// CHECK: nest.accumulate "q" add {{%\S+}}, [[SUMS]]{{\[}}[[P]]]
// CHECK: nest.for "i.combine"
// CHECK: [[ALL:%\S+]] = nest.load %m[]
// CHECK-NEXT: nest.for "i.1.combine" [[C:%\S+]] = 0 to 4 {
// CHECK-NEXT: [[S:%\S+]] = nest.load [[SUMS]]{{\[}}[[C]]]
// CHECK-NEXT: [[M:%\S+]] = nest.load [[MAXIMA]]{{\[}}[[C]]]
// CHECK: [[BASE:%\S+]] = arith.select {{%\S+}}, {{%\S+}}, [[M]] : f32
// CHECK-NEXT: [[LESS:%\S+]] = arith.subf [[BASE]], [[ALL]] : f32
// CHECK-NEXT: [[SCALE:%\S+]] = math.exp [[LESS]] : f32
// CHECK-NEXT: [[SCALED:%\S+]] = arith.mulf [[S]], [[SCALE]] : f32
// CHECK-NEXT: nest.accumulate "q" add [[SCALED]], %q[]
// CHECK: nest.for "i.1.rest" [[J:%\S+]] = 0 to 12 {
// CHECK: [[D:%\S+]] = arith.subf {{%\S+}}, [[ALL]] : f32
// CHECK-NEXT: [[E:%\S+]] = math.exp [[D]] : f32
// CHECK-NEXT: nest.store "e" [[E]], %y{{\[}}[[J]]]
func.func @plain(%x: memref<15xf32>, %y: memref<15xf32>, %q: memref<f32>) {
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

// Terms of 16 bits are shifted by a maximum of 16 bits, scales have the 32 bits of the sum; nothing is stored.
// CHECK-LABEL: @short
// CHECK: nest.for "i" {{%\S+}} = 4 * [[P:%\S+]] + 2 to min(4 * [[P]] + 6, 15) {
// CHECK: [[SHIFT:%\S+]] = arith.select {{%\S+}}, {{%\S+}}, {{%\S+}} : f16
// CHECK-NEXT: nest.for "i.1"
// CHECK: arith.subf {{%\S+}}, [[SHIFT]] : f16
// CHECK: [[LARGEST:%\S+]] = arith.select
// CHECK: nest.for "i.1.combine"
// CHECK: [[ALL:%\S+]] = arith.extf [[LARGEST]] : f16 to f32
// CHECK: arith.subf {{%\S+}}, [[ALL]] : f32
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
