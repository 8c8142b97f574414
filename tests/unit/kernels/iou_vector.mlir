// Ratio IoU of boxes (x, y, w, h): 64-wide vectors in a parallel loop, the last vector masked.
func.func @iou(%x1: memref<?xf32> {nestor.noalias}, %y1: memref<?xf32> {nestor.noalias}, %w1: memref<?xf32> {nestor.noalias}, %h1: memref<?xf32> {nestor.noalias},
               %x2: memref<?xf32> {nestor.noalias}, %y2: memref<?xf32> {nestor.noalias}, %w2: memref<?xf32> {nestor.noalias}, %h2: memref<?xf32> {nestor.noalias},
               %out: memref<?xf32> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<64xf32>
  %eps = arith.constant dense<1.0e-05> : vector<64xf32>
  %n = memref.dim %x1, %c0 : memref<?xf32>
  "scf.parallel"(%c0, %n, %c64) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %left = arith.subi %n, %i : index
    %m = vector.create_mask %left : vector<64xi1>
    %a = vector.maskedload %x1[%i], %m, %zero : memref<?xf32>, vector<64xi1>, vector<64xf32> into vector<64xf32>
    %b = vector.maskedload %y1[%i], %m, %zero : memref<?xf32>, vector<64xi1>, vector<64xf32> into vector<64xf32>
    %c = vector.maskedload %w1[%i], %m, %zero : memref<?xf32>, vector<64xi1>, vector<64xf32> into vector<64xf32>
    %d = vector.maskedload %h1[%i], %m, %zero : memref<?xf32>, vector<64xi1>, vector<64xf32> into vector<64xf32>
    %e = vector.maskedload %x2[%i], %m, %zero : memref<?xf32>, vector<64xi1>, vector<64xf32> into vector<64xf32>
    %f = vector.maskedload %y2[%i], %m, %zero : memref<?xf32>, vector<64xi1>, vector<64xf32> into vector<64xf32>
    %g = vector.maskedload %w2[%i], %m, %zero : memref<?xf32>, vector<64xi1>, vector<64xf32> into vector<64xf32>
    %h = vector.maskedload %h2[%i], %m, %zero : memref<?xf32>, vector<64xi1>, vector<64xf32> into vector<64xf32>
    %xi = arith.maximumf %a, %e : vector<64xf32>
    %yi = arith.maximumf %b, %f : vector<64xf32>
    %xw1 = arith.addf %a, %c : vector<64xf32>
    %xw2 = arith.addf %e, %g : vector<64xf32>
    %xr = arith.minimumf %xw1, %xw2 : vector<64xf32>
    %yh1 = arith.addf %b, %d : vector<64xf32>
    %yh2 = arith.addf %f, %h : vector<64xf32>
    %yr = arith.minimumf %yh1, %yh2 : vector<64xf32>
    %wd = arith.subf %xr, %xi : vector<64xf32>
    %hd = arith.subf %yr, %yi : vector<64xf32>
    %wi = arith.maximumf %wd, %zero : vector<64xf32>
    %hi = arith.maximumf %hd, %zero : vector<64xf32>
    %area_i = arith.mulf %wi, %hi : vector<64xf32>
    %area1 = arith.mulf %c, %d : vector<64xf32>
    %area2 = arith.mulf %g, %h : vector<64xf32>
    %sum = arith.addf %area1, %area2 : vector<64xf32>
    %union = arith.subf %sum, %area_i : vector<64xf32>
    %bottom = arith.addf %union, %eps : vector<64xf32>
    %iou = arith.divf %area_i, %bottom : vector<64xf32>
    vector.maskedstore %out[%i], %m, %iou : memref<?xf32>, vector<64xi1>, vector<64xf32>
    scf.reduce
  }) {nestor.grain = 256 : i64} : (index, index, index) -> ()
  func.return
}
