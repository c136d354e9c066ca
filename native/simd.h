// Vectors of floats: the compiler's own vector types, and the few steps for which it has no operator.
#pragma once
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE__)
#include <xmmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int LANES = 16, ACROSS = 4;  // ACROSS: vectors of a row of a register block
#elif defined(ATTNSCOPE_WIDE)
constexpr int LANES = 16, ACROSS = 4;  // the shape of the widest on any machine, to be tested there
#elif defined(__AVX2__)
constexpr int LANES = 8, ACROSS = 2;
#elif defined(__ARM_NEON)
constexpr int LANES = 4, ACROSS = 4;
#else
constexpr int LANES = 4, ACROSS = 2;
#endif

typedef float V __attribute__((vector_size(4 * LANES)));
typedef int32_t I __attribute__((vector_size(4 * LANES)));
typedef uint32_t U __attribute__((vector_size(4 * LANES)));
typedef float VU __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

inline V load(const float* p) { return *reinterpret_cast<const VU*>(p); }
inline void store(float* p, V x) { *reinterpret_cast<VU*>(p) = x; }
inline V all(float x) { return x - V{}; }
inline I bits(V x) { return (I)x; }
inline V floats(I x) { return (V)x; }

// b where either is NaN
inline V larger(V a, V b) {
#if defined(__AVX512F__)
  return (V)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__) && !defined(ATTNSCOPE_WIDE)
  return (V)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return a > b ? a : b;
#endif
}

// a * b + c, rounded once where the machine can
inline V fma(V a, V b, V c) {
#if defined(__AVX512F__)
  return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && !defined(ATTNSCOPE_WIDE)
  return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__ARM_NEON)
  return (V)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

inline bool any(I mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__) && !defined(ATTNSCOPE_WIDE)
  return _mm256_movemask_ps((__m256)mask) != 0;
#else
  int32_t found = 0;
  for (int n = 0; n < LANES; n++) found |= mask[n];
  return found != 0;
#endif
}

// One bit for each lane.
inline uint32_t lanes_of(I mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask);
#elif defined(__AVX2__) && !defined(ATTNSCOPE_WIDE)
  return _mm256_movemask_ps((__m256)mask);
#else
  uint32_t found = 0;
  for (int n = 0; n < LANES; n++) found |= (mask[n] ? 1u : 0u) << n;
  return found;
#endif
}

inline float sum(V x) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)x);
#elif defined(__AVX2__) && !defined(ATTNSCOPE_WIDE)
  __m128 a = _mm_add_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
  a = _mm_add_ps(a, _mm_movehl_ps(a, a));
  return _mm_cvtss_f32(_mm_add_ss(a, _mm_movehdup_ps(a)));
#else
  float found[LANES];
  for (int n = 0; n < LANES; n++) found[n] = x[n];
  for (int half = LANES / 2; half; half /= 2)
    for (int n = 0; n < half; n++) found[n] += found[n + half];
  return found[0];
#endif
}

inline float largest(V x) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)x);
#elif defined(__AVX2__) && !defined(ATTNSCOPE_WIDE)
  __m128 a = _mm_max_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
  a = _mm_max_ps(a, _mm_movehl_ps(a, a));
  return _mm_cvtss_f32(_mm_max_ss(a, _mm_movehdup_ps(a)));
#else
  float found = x[0];
  for (int n = 1; n < LANES; n++) found = x[n] > found ? x[n] : found;
  return found;
#endif
}

// Lanes whose bit is set are all ones.
inline I spread(uint64_t word, int from) {
  I one;
  for (int n = 0; n < LANES; n++) one[n] = 1 << n;
  int32_t own = (int32_t)((word >> from) & ((1u << LANES) - 1));
  return (((own - I{}) & one) != 0);
}

inline I one_by_one() {
  I found;
  for (int n = 0; n < LANES; n++) found[n] = n;
  return found;
}

}  // namespace
