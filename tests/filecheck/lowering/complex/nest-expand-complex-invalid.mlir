// What has no form in real numbers is refused.
// RUN: opt-tool %s -p nest-expand-complex --split-input-file --verify-diagnostics

// expected-error @below {{argument 0 is a number of type complex<f64>, and only buffers of complex numbers are passed}}
func.func @number(%z: complex<f64>) {
  func.return
}

// -----

func.func @unknown(%x: memref<complex<f64>>) {
  %a = nest.load %x[] : memref<complex<f64>>
  // expected-error @below {{complex.rsqrt on complex numbers has no form in real ones}}
  %b = complex.rsqrt %a : complex<f64>
  nest.store "x" %b, %x[] : memref<complex<f64>>
  func.return
}

// -----

// expected-error @below {{argument 0 is a number of type complex<f32>}}
func.func private @f(complex<f32>) -> ()

// -----

func.func @condition(%x: memref<complex<f64>>, %c: i1) {
  %a = nest.load %x[] : memref<complex<f64>>
  // expected-error @below {{a reduction of several buffers, or under a condition, into complex numbers of an argument has no form}}
  nest.accumulate "x" mul %a, %x[] mask %c : memref<complex<f64>>
  func.return
}
