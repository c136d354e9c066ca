// Functions of numbers: e^x, log, tanh, and the roundings of 16-bit dtypes.
#pragma once
#include "call.h"
#include "simd.h"

namespace {

constexpr float LOG2_E = 1.44269504f;
constexpr float LN_2 = 0.693359375f, LN_2_LESS = 2.12194440e-4f;  // log 2 is the first less the second
constexpr float LEAST = -87.0f;  // as core.tile has it: the log of a weight that is as good as none
constexpr float TO_WHOLE = 12583039.0f;  // 1.5 * 2^23, and 127: adding it leaves in the low bits a whole number and 127

// 2^f (1 + 9e-8) for f in [-1/2, 1/2], exactly 1 at 0.
inline V power_of_two(V f) {
  V p = fma(all(0x1.5bba16p-10f), f, all(0x1.3cea88p-7f));
  p = fma(p, f, all(0x1.c6b752p-5f));
  p = fma(p, f, all(0x1.ebf9bcp-3f));
  p = fma(p, f, all(0x1.62e42ap-1f));
  return fma(p, f, all(1.0f));
}

// e^x of numbers from LEAST up to about 88, no others; NaN stays.
inline V raised(V x) {
  V shifted = fma(x, all(LOG2_E), all(TO_WHOLE));
  V whole = shifted - all(TO_WHOLE);
#if (defined(__AVX2__) && !defined(ATTNSCOPE_WIDE)) || defined(__ARM_NEON)
  V rest = fma(x, all(LOG2_E), -whole);
#else
  // x LOG2_E would be rounded; whole * LN_2 is exact
  V rest = ((x - whole * all(LN_2)) + whole * all(LN_2_LESS)) * all(LOG2_E);
#endif
  return power_of_two(rest) * (V)((U)shifted << 23);  // of a NaN any bits, and NaN in the end
}

// e^x of numbers up to about 0, exactly 0 from LEAST down; x is set to LEAST there.
inline V exponential(V& x) {
  x = larger(all(LEAST), x);
  return x <= all(LEAST) ? V{} : raised(x);
}

// The natural logarithm of normal numbers above 0 (Cephes).
inline V logarithm(V x) {
  I field = (I)((U)x - 0x3f3504f3u) >> 23;  // x = 2^field * m, m in [sqrt(1/2), sqrt(2)]
  V m = (V)((U)x - ((U)field << 23)) - all(1.0f), whole;
  for (int n = 0; n < LANES; n++) whole[n] = (float)field[n];
  V p = fma(all(7.0376836292e-2f), m, all(-1.1514610310e-1f));
  p = fma(p, m, all(1.1676998740e-1f));
  p = fma(p, m, all(-1.2420140846e-1f));
  p = fma(p, m, all(1.4249322787e-1f));
  p = fma(p, m, all(-1.6668057665e-1f));
  p = fma(p, m, all(2.0000714765e-1f));
  p = fma(p, m, all(-2.4999993993e-1f));
  p = fma(p, m, all(3.3333331174e-1f));
  V square = m * m;
  V found = fma(p * m, square, fma(whole, all(-LN_2_LESS), all(-0.5f) * square));
  found = fma(whole, all(LN_2), m + found);
  return x != x ? x : found;
}

inline V magnitude(V x) { return floats(bits(x) & 0x7fffffff); }

inline V tangent(V x) {  // tanh
  V size = magnitude(x), square = x * x;
  V p = fma(all(-5.70498872745e-3f), square, all(2.06390887954e-2f));
  p = fma(p, square, all(-5.37397155531e-2f));
  p = fma(p, square, all(1.33314422036e-1f));
  p = fma(p, square, all(-3.33332819422e-1f));
  V near = fma(p * square, x, x);
  V capped = size > all(20.0f) ? all(20.0f) : size;
  V far = all(1.0f) - all(2.0f) / (raised(capped + capped) + all(1.0f));
  far = floats(bits(far) | (bits(x) & (int32_t)0x80000000));
  V found = size < all(0.625f) ? near : far;
  return x != x ? x : found;
}

inline V to_bfloat16(V x) {
  U raw = (U)x;
  V found = (V)((raw + 0x7fff + ((raw >> 16) & 1)) & 0xffff0000);
  return x != x ? x : found;
}

inline V to_float16(V x) {
  V size = magnitude(x);
  U raw = (U)size, kept = (raw + 0xfff + ((raw >> 13) & 1)) & 0xffffe000;
  V small = (size + all(0.5f)) - all(0.5f);  // steps of 2^-24
  V found = size < all(0x1p-14f) ? small : (V)kept;
  found = found > all(65504.0f) ? all(__builtin_inff()) : found;
  found = floats(bits(found) | (bits(x) & (int32_t)0x80000000));
  return x != x ? x : found;
}

inline V rounded(V x, int32_t kind) {
  return kind == BFLOAT16 ? to_bfloat16(x) : kind == FLOAT16 ? to_float16(x) : x;
}

inline float float_of_half(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
  union { uint32_t raw; float value; } found;
  if (rest >= 0x7c00) {
    found.raw = sign | 0x7f800000 | (rest & 0x3ff) << 13;
  } else if (rest >= 0x400) {
    found.raw = sign | ((rest + 0x1c000) << 13);
  } else {
    found.value = (float)rest * 0x1p-24f;
    found.raw |= sign;
  }
  return found.value;
}

inline float float_of(const void* data, int64_t at, int32_t kind) {
  union { uint32_t raw; float value; } found;
  switch (kind) {
    case BFLOAT16: found.raw = (uint32_t)static_cast<const uint16_t*>(data)[at] << 16; return found.value;
    case FLOAT16: return float_of_half(static_cast<const uint16_t*>(data)[at]);
    case FLOAT64: return (float)static_cast<const double*>(data)[at];
    default: return static_cast<const float*>(data)[at];
  }
}

// LANES numbers that lie one after the other.
inline V several_of(const void* data, int64_t at, int32_t kind) {
  if (kind == FLOAT32) return load(static_cast<const float*>(data) + at);
  typedef uint16_t S __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
  if (kind == BFLOAT16) {
    const S raw = *reinterpret_cast<const S*>(static_cast<const uint16_t*>(data) + at);
    return floats(__builtin_convertvector(raw, I) << 16);
  }
#if defined(__AVX512F__)
  if (kind == FLOAT16)
    return (V)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)(static_cast<const uint16_t*>(data) + at)));
#elif defined(__F16C__) && !defined(ATTNSCOPE_WIDE)
  if (kind == FLOAT16)
    return (V)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(static_cast<const uint16_t*>(data) + at)));
#endif
  V found;
  for (int n = 0; n < LANES; n++) found[n] = float_of(data, at + n, kind);
  return found;
}

inline bool is_finite(float x) { return x - x == 0.0f; }

}  // namespace
