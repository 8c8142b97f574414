// Parts of vectors that are none: each with the reason.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @f(%x: vector<4x2xf16>) {
  // expected-error @below {{takes 2 of 4 elements from 3 on}}
  %0 = vector.extract_strided_slice %x {offsets = [3], sizes = [2], strides = [1]} : vector<4x2xf16> to vector<2x2xf16>
  func.return
}

// -----

func.func @f(%x: vector<4x2xf16>) {
  // expected-error @below {{offsets, sizes and strides are those of the first axes}}
  %0 = vector.extract_strided_slice %x {offsets = [0], sizes = [2, 2], strides = [1]} : vector<4x2xf16> to vector<2x2xf16>
  func.return
}

// -----

func.func @f(%x: vector<4x2xf16>) {
  // expected-error @below {{the result has the shape that sizes say}}
  %0 = vector.extract_strided_slice %x {offsets = [0], sizes = [2], strides = [1]} : vector<4x2xf16> to vector<4x2xf16>
  func.return
}
