// A nest of products of bytes that lie as tiles have them is tdpbssd, its sums in registers while the loop runs; sums that a nest
// before it sets to zero begin as zeros there, and others are loaded.
// RUN: opt-tool %s -p 'nest-annotate{loop=k mark="nestor.amx"}' | filecheck %s --check-prefix=MARK
// RUN: opt-tool %s -p 'nest-annotate{loop=k mark="nestor.amx"},convert-nest-to-scf' | filecheck %s
// RUN: opt-tool %s -p 'nest-cut{loop=i at=16},nest-annotate{loop=k mark="nestor.amx"},convert-nest-to-scf' | filecheck %s --check-prefix=LOAD

// MARK: nest.for "k" %{{.*}} = 0 to 3 attributes {nestor.amx} {

// CHECK-NOT:  memref.store %zero
// CHECK:      [[Z:%.*]] = amx.tile_zero : !amx.tile<16x16xi32>
// CHECK:      scf.for [[K:%.*]] = %c0 to %c3 step %c1 iter_args([[S0:%.*]] = [[Z]], [[S1:%.*]] = {{%.*}}, [[S2:%.*]] = {{%.*}}, [[S3:%.*]] = {{%.*}})
// CHECK-NEXT: [[B0:%.*]] = amx.tile_load %y{{\[}}[[K]], %c0, %c0, %c0] : memref<3x2x16x64xi8> into !amx.tile<16x64xi8>
// CHECK-NEXT: [[B1:%.*]] = amx.tile_load %y{{\[}}[[K]], %c1, %c0, %c0]
// CHECK-NEXT: [[A0:%.*]] = amx.tile_load %x{{\[}}[[K]], %c0, %c0] : memref<3x32x64xi8> into !amx.tile<16x64xi8>
// CHECK-NEXT: amx.tile_muli [[A0]], [[B0]], [[S0]] : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
// CHECK-NEXT: amx.tile_muli [[A0]], [[B1]], [[S1]]
// CHECK-NEXT: [[A1:%.*]] = amx.tile_load %x{{\[}}[[K]], %c16, %c0]
// CHECK-NEXT: amx.tile_muli [[A1]], [[B0]], [[S2]]
// CHECK-NEXT: amx.tile_muli [[A1]], [[B1]], [[S3]]
// CHECK:      amx.tile_store %s[%c0, %c0]
// CHECK-NEXT: amx.tile_store %s[%c0, %c16]
// CHECK-NEXT: amx.tile_store %s[%c16, %c0]
// CHECK-NEXT: amx.tile_store %s[%c16, %c16]

// LOAD-COUNT-2: memref.store %zero
// LOAD-NOT:     amx.tile_zero
// LOAD-COUNT-4: amx.tile_load %s[{{.*}}] : memref<32x32xi32> into !amx.tile<16x16xi32>
// LOAD:         amx.tile_muli

func.func @f(%x: memref<3x32x64xi8>, %y: memref<3x2x16x64xi8>, %z: memref<32x32xi32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  %s = nest.alloc "s" : memref<32x32xi32>
  nest.for "i" %i = 0 to 32 {
    nest.for "j" %j = 0 to 32 {
      nest.store "s" %zero, %s[%i, %j] : memref<32x32xi32>
    }
  }
  nest.for "k" %k = 0 to 3 {
    nest.for "m" %m = 0 to 2 {
      nest.for "n" %n = 0 to 2 {
        nest.for "r" %r = 0 to 16 {
          nest.for "c" %c = 0 to 16 {
            nest.for "g" %g = 0 to 16 {
              nest.for "v" %v = 0 to 4 {
                %a = nest.load %x[%k, 16 * %m + %r, 4 * %g + %v] : memref<3x32x64xi8>
                %b = nest.load %y[%k, %n, %g, 4 * %c + %v] : memref<3x2x16x64xi8>
                %a_1 = arith.extsi %a : i8 to i32
                %b_1 = arith.extsi %b : i8 to i32
                %p = arith.muli %a_1, %b_1 : i32
                nest.accumulate "s" add %p, %s[16 * %m + %r, 16 * %n + %c] : memref<32x32xi32>
              }
            }
          }
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 32 {
    nest.for "j.1" %j = 0 to 32 {
      %0 = nest.load %s[%i, %j] : memref<32x32xi32>
      nest.store "z" %0, %z[%i, %j] : memref<32x32xi32>
    }
  }
  func.return
}
