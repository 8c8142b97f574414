// Intersection over union of boxes, as a person would write it for speed: four boxes a thread by 16-byte accesses, the rest one by one.

extern "C" __global__ void __launch_bounds__(256) iou_by_hand(
    const float *__restrict__ x1, const float *__restrict__ y1, const float *__restrict__ w1,
    const float *__restrict__ h1, const float *__restrict__ x2, const float *__restrict__ y2,
    const float *__restrict__ w2, const float *__restrict__ h2, float *__restrict__ out, int n) {
  const int k = (blockIdx.x * 256 + threadIdx.x) * 4;
  auto one = [](float ax, float ay, float aw, float ah, float bx, float by, float bw, float bh) {
    const float w = fmaxf(fminf(ax + aw, bx + bw) - fmaxf(ax, bx), 0.0f);
    const float h = fmaxf(fminf(ay + ah, by + bh) - fmaxf(ay, by), 0.0f);
    const float both = w * h;
    return both / (aw * ah + bw * bh - both + 1e-5f);
  };
  if (k + 4 <= n) {
    const float4 ax = *(const float4 *)(x1 + k), ay = *(const float4 *)(y1 + k);
    const float4 aw = *(const float4 *)(w1 + k), ah = *(const float4 *)(h1 + k);
    const float4 bx = *(const float4 *)(x2 + k), by = *(const float4 *)(y2 + k);
    const float4 bw = *(const float4 *)(w2 + k), bh = *(const float4 *)(h2 + k);
    *(float4 *)(out + k) = make_float4(
        one(ax.x, ay.x, aw.x, ah.x, bx.x, by.x, bw.x, bh.x), one(ax.y, ay.y, aw.y, ah.y, bx.y, by.y, bw.y, bh.y),
        one(ax.z, ay.z, aw.z, ah.z, bx.z, by.z, bw.z, bh.z), one(ax.w, ay.w, aw.w, ah.w, bx.w, by.w, bw.w, bh.w));
    return;
  }
  for (int i = k; i < n; ++i) out[i] = one(x1[i], y1[i], w1[i], h1[i], x2[i], y2[i], w2[i], h2[i]);
}
