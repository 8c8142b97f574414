// Random bits are ten rounds of Philox 4x32 in integers of 64 bits, at any width; the products are of 32-bit words.
// RUN: opt-tool %s -p expand-math | filecheck %s

// CHECK-LABEL: func.func @bits
// CHECK-DAG: [[LOW:%.+]] = arith.constant dense<4294967295> : vector<8xi64>
// CHECK-DAG: [[FACTOR:%.+]] = arith.constant dense<3528531795> : vector<8xi64>
// CHECK: [[A:%.+]] = arith.andi %counter, [[LOW]] : vector<8xi64>
// CHECK: arith.muli [[A]], [[FACTOR]] : vector<8xi64>
// CHECK-COUNT-19: arith.muli
// CHECK-NOT: arith.muli
// CHECK: %result = arith.ori
func.func @bits(%counter: vector<8xi64>, %stream: vector<8xi64>, %key: vector<8xi64>) -> vector<8xi64> {
  %result = special.philox %counter, %stream, %key : vector<8xi64>
  func.return %result : vector<8xi64>
}
