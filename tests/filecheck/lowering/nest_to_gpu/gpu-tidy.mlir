// A register that is set to what leaves a maximum or a sum as it is, and then updated once by the total of the lanes, is that total;
// a bound that a lower one implies is not asked.
// RUN: opt-tool %s -p 'nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true index-bits=32}' -t cuda | filecheck %s

// CHECK:      float dot = 0.0f;
// CHECK-NEXT: float largest_lane = __int_as_float(0xff800000);
// CHECK:      float largest = largest_lane;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT: for (int step = 0; step < 5; step++) {
// CHECK-NEXT:   const float other = __shfl_xor_sync(0xffffffffu, largest, 16 >> step);
// CHECK-NEXT:   largest = nt_maximum(largest, other);
// CHECK-NEXT: }
// CHECK-NEXT: float sum_lane = 0.0f;
// CHECK:      float sum = sum_lane;

// A sum of products that are not rounded before may be -0 though it began with 0: it is added to the 0.
// CHECK:      float dot_lane = -0.0f;
// CHECK:      dot += total;
// CHECK-NEXT: if (lane < 7) {
// CHECK:      if (lane < 5) {
func.func @rows(%x: memref<8x64xf32>, %y: memref<8x64xf32>, %out: memref<8x3xf32> {nest.role = "out"},
                %part: memref<8x64xf32> {nest.role = "out"}, %few: memref<8x64xf32> {nest.role = "out"}) {
  %none = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %start = arith.constant -0.0 : f32
  nest.for "i" %i = 0 to 8 bind "block.x" {
    nest.for "w" %w = 0 to 1 bind "thread.x" {
      %largest = nest.alloc "largest" : memref<f32, 5>
      nest.store "largest" %none, %largest[] : memref<f32, 5>
      %sum = nest.alloc "sum" : memref<f32, 5>
      nest.store "sum" %zero, %sum[] : memref<f32, 5>
      %dot = nest.alloc "dot" : memref<f32, 5>
      nest.store "dot" %zero, %dot[] : memref<f32, 5>
      nest.for "lane" %lane = 0 to 32 bind "lane" {
        %largest_lane = nest.alloc "largest_lane" : memref<f32, 5>
        nest.store "largest" %none, %largest_lane[] : memref<f32, 5>
        nest.for "j" %j = 0 to 2 {
          %a = nest.load %x[%i, 32 * %j + %lane] : memref<8x64xf32>
          nest.accumulate "largest" maximum %a, %largest_lane[] : memref<f32, 5>
        }
        %1 = nest.load %largest_lane[] : memref<f32, 5>
        nest.accumulate "largest" maximum %1, %largest[] : memref<f32, 5>
      }
      nest.for "lane.1" %lane = 0 to 32 bind "lane" {
        %sum_lane = nest.alloc "sum_lane" : memref<f32, 5>
        nest.store "sum" %start, %sum_lane[] : memref<f32, 5>
        nest.for "j.1" %j = 0 to 2 {
          %a = nest.load %x[%i, 32 * %j + %lane] : memref<8x64xf32>
          nest.accumulate "sum" add %a, %sum_lane[] : memref<f32, 5>
        }
        %1 = nest.load %sum_lane[] : memref<f32, 5>
        nest.accumulate "sum" add %1, %sum[] : memref<f32, 5>
      }
      nest.for "lane.2" %lane = 0 to 32 bind "lane" {
        %dot_lane = nest.alloc "dot_lane" : memref<f32, 5>
        nest.store "dot" %start, %dot_lane[] : memref<f32, 5>
        nest.for "j.2" %j = 0 to 2 {
          %a = nest.load %x[%i, 32 * %j + %lane] : memref<8x64xf32>
          %b = nest.load %y[%i, 32 * %j + %lane] : memref<8x64xf32>
          %c = arith.mulf %a, %b : f32
          nest.accumulate "dot" add %c, %dot_lane[] : memref<f32, 5>
        }
        %1 = nest.load %dot_lane[] : memref<f32, 5>
        nest.accumulate "dot" add %1, %dot[] : memref<f32, 5>
      }
      %2 = nest.load %largest[] : memref<f32, 5>
      %3 = nest.load %sum[] : memref<f32, 5>
      %4 = nest.load %dot[] : memref<f32, 5>
      nest.for "lane.3" %j = 0 to 32 bind "lane" {
        nest.store "part" %2, %part[%i, %j] where (%j < 7) : memref<8x64xf32>
        nest.store "few" %3, %few[%i, %j] where (%j < 5, %j < 7) : memref<8x64xf32>
      }
      nest.store "out" %4, %out[%i, 2] : memref<8x3xf32>
    }
  }
  func.return
}

// What a loop sets and uses alone is made in it, and branches that ask the same and more stand in the first one.
// CHECK-LABEL: copies_kernel(
// CHECK:      for (int k = 0; k < 4; k++) {
// CHECK-NEXT:   if (k + t < 50) {
// CHECK-NEXT:     float element = 0.0f;
// CHECK-NEXT:     if (k >= 1 && t >= 2) {
// CHECK-NEXT:       const float a = x[(k - 1) * 64 + t - 2];
// CHECK-NEXT:       element = a;
// CHECK-NEXT:     }
// CHECK-NEXT:     y[k * 64 + t] = element;
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @copies(%x: memref<8x64xf32>, %y: memref<8x64xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "t" %t = 0 to 64 bind "thread.x" {
    nest.for "k" %k = 0 to 4 {
      %element = nest.alloc "element" : memref<f32, 5>
      nest.store %zero, %element[] where (%k + %t < 50) : memref<f32, 5>
      %a = nest.load %x[%k - 1, %t - 2] : memref<8x64xf32>
      nest.store %a, %element[] where (%k >= 1, %t >= 2, %k + %t < 50) : memref<f32, 5>
      %b = nest.load %element[] : memref<f32, 5>
      nest.store %b, %y[%k, %t] where (%k + %t < 50) : memref<8x64xf32>
    }
  }
  func.return
}

// A store between two branches on the same condition stays there: it writes over what the first one has written.
// CHECK-LABEL: between_kernel(
// CHECK:      if (t < 50) {
// CHECK-NEXT:   y[t] = a;
// CHECK-NEXT: }
// CHECK-NEXT: y[t] = b;
// CHECK-NEXT: if (t >= 50) return;
// CHECK-NEXT: z[t] = a;
func.func @between(%a: f32, %b: f32, %y: memref<64xf32> {nest.role = "out"}, %z: memref<64xf32> {nest.role = "out"}) {
  nest.for "t" %t = 0 to 64 bind "thread.x" {
    nest.store %a, %y[%t] where (%t < 50) : memref<64xf32>
    nest.store %b, %y[%t] : memref<64xf32>
    nest.store %a, %z[%t] where (%t < 50) : memref<64xf32>
  }
  func.return
}

// What is loaded is zero beyond an edge already, and is not chosen again; it is moved as 16 bits.
// CHECK-LABEL: chosen_once_kernel(
// CHECK:      unsigned short [[A:.*]];
// CHECK-NEXT: if (i >= 3 && i < 103) {
// CHECK-NEXT:   [[A]] = x[i - 3];
// CHECK-NEXT: } else {
// CHECK-NEXT:   [[A]] = 0;
// CHECK-NEXT: }
// CHECK-NEXT: y[i] = [[A]];
func.func @chosen_once(%x: memref<100xf16>, %y: memref<128xf16> {nest.role = "out"}) {
  %other = arith.constant 0.0 : f16
  nest.for "i" %i = 0 to 128 bind "thread.x" {
    %0 = nest.load %x[%i - 3] : memref<100xf16>
    %element = nest.alloc "element" : memref<f16, 5>
    nest.store %other, %element[] : memref<f16, 5>
    nest.store %0, %element[] where (%i >= 3, %i < 103) : memref<f16, 5>
    %e = nest.load %element[] : memref<f16, 5>
    nest.store %e, %y[%i] : memref<128xf16>
  }
  func.return
}

// Another constant, also the other zero: it is chosen where the edge is.
// CHECK-LABEL: chosen_twice_kernel(
// CHECK:      unsigned short element = 32768;
// CHECK-NEXT: if (i >= 3 && i < 103) {
// CHECK-NEXT:   element = {{.*}};
// CHECK-NEXT: }
// CHECK-NEXT: y[i] = element;
func.func @chosen_twice(%x: memref<100xf16>, %y: memref<128xf16> {nest.role = "out"}) {
  %other = arith.constant -0.0 : f16
  nest.for "i" %i = 0 to 128 bind "thread.x" {
    %0 = nest.load %x[%i - 3] : memref<100xf16>
    %element = nest.alloc "element" : memref<f16, 5>
    nest.store %other, %element[] : memref<f16, 5>
    nest.store %0, %element[] where (%i >= 3, %i < 103) : memref<f16, 5>
    %e = nest.load %element[] : memref<f16, 5>
    nest.store %e, %y[%i] : memref<128xf16>
  }
  func.return
}
