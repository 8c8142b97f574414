/* The C library's functions that NumPy lacks, of long doubles; and what a sweep over all singles is compared with, its
   functions of doubles, with the comparison.
   tests/unit/math_accuracy.py compiles it with -ffast-math, so that loops call the library's vectors: the arguments may
   be nan and infinite, which those answer as the scalars do. Comparisons of special values go by the bits. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define REFERENCE(name, expression)                                                                    \
    void exact_##name(const float *in, double *out, int64_t n) {                                      \
        for (int64_t i = 0; i < n; i++) {                                                             \
            double x = in[i];                                                                         \
            out[i] = expression;                                                                      \
        }                                                                                             \
    }

REFERENCE(exp, exp(x))
REFERENCE(log, log(x))
REFERENCE(sin, sin(x))
REFERENCE(cos, cos(x))
REFERENCE(tanh, tanh(x))
REFERENCE(erf, erf(x))
REFERENCE(sigmoid, 1 / (1 + exp(-x)))

#define LONG_REFERENCE(name)                                                                           \
    void long_##name(const double *in, long double *out, int64_t n) {                                 \
        for (int64_t i = 0; i < n; i++)                                                               \
            out[i] = name##l(in[i]);                                                                  \
    }

LONG_REFERENCE(erf)
LONG_REFERENCE(erfc)
LONG_REFERENCE(lgamma)

/* Whether the result may be off by more than `limit` units of the exact value rounded to single: a unit is at least 2^-24
   of that. Signs, nan and infinities count whatever the limit; all nans are the same. */
static inline int off(float result, double exact, double limit) {
    float rounded = (float)exact;
    uint32_t a, b;
    memcpy(&a, &result, 4);
    memcpy(&b, &rounded, 4);
    uint32_t wide_a = a & 0x7fffffff, wide_b = b & 0x7fffffff;
    int special = (wide_a >= 0x7f800000) | (wide_b >= 0x7f800000);
    int both_nan = (wide_a > 0x7f800000) & (wide_b > 0x7f800000);
    int far = fabs((double)result - exact) > limit * 0x1p-24 * fabs((double)rounded);
    return (a != b) & !both_nan & (special | far | (int)((a ^ b) >> 31));
}

/* The places where that holds, and their number. n is a multiple of 64. */
int64_t differences(const float *result, const double *exact, int64_t n, double limit, int32_t *places) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 64) {
        int some = 0;
        for (int j = 0; j < 64; j++)
            some |= off(result[i + j], exact[i + j], limit);
        for (int j = 0; some && j < 64; j++)
            if (off(result[i + j], exact[i + j], limit))
                places[count++] = (int32_t)(i + j);
    }
    return count;
}
