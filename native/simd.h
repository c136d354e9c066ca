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

// The sums of four vectors, each added in the same order.
inline void sums_of(V a, V b, V c, V d, float* into) {
#if defined(__AVX512F__)
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps((__m512)a, (__m512)b), _mm512_unpackhi_ps((__m512)a, (__m512)b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps((__m512)c, (__m512)d), _mm512_unpackhi_ps((__m512)c, (__m512)d));
  const __m512 abcd = _mm512_add_ps(
      _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))),
      _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(abcd), _mm512_extractf32x8_ps(abcd, 1));
  _mm_storeu_ps(into, _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
#elif defined(__AVX2__) && !defined(ATTNSCOPE_WIDE)
  const __m256 abcd = _mm256_hadd_ps(_mm256_hadd_ps((__m256)a, (__m256)b), _mm256_hadd_ps((__m256)c, (__m256)d));
  _mm_storeu_ps(into, _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps(abcd, 1)));
#else
  into[0] = sum(a);
  into[1] = sum(b);
  into[2] = sum(c);
  into[3] = sum(d);
#endif
}

// One bit for each lane in which a is larger than b, or one of them is NaN.
inline uint32_t not_at_most(V a, V b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_NLE_UQ);
#else
  return lanes_of(~(a <= b));
#endif
}

// One bit for each lane in which a is at least b, or one of them is NaN.
inline uint32_t not_below(V a, V b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_NLT_UQ);
#else
  return lanes_of(~(a < b));
#endif
}

// Whether a is larger than b in a lane.
inline bool any_above(V a, V b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ) != 0;
#else
  return any(a > b);
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

// The least of the larger ones of two lanes each, LANES / 2 pairs; lanes that are NaN may count or not.
inline float least_of_pairs(V x) {
#if defined(__AVX512F__)
  return _mm512_reduce_min_ps(_mm512_max_ps((__m512)x, _mm512_shuffle_ps((__m512)x, (__m512)x, 0xb1)));
#else
  float found = __builtin_inff();
  for (int n = 0; n < LANES; n += 2) {
    const float most = x[n] > x[n + 1] ? x[n] : x[n + 1];
    found = most < found ? most : found;
  }
  return found;
#endif
}

// A place among lanes that do not rise, after all that are at least x or NaN; and what stands at it, put there: what
// stood there and after it moves on by one.
#if defined(__AVX512F__)
typedef __mmask16 Place;
inline Place place_of(V lanes, V x) {
  const __mmask16 before = _mm512_cmp_ps_mask((__m512)lanes, (__m512)x, _CMP_NLT_UQ);
  return _knot_mask16(_kadd_mask16(before, _cvtu32_mask16(1)));  // all lanes but the one after these
}
inline V pushed(V lanes, Place place, V x) { return (V)_mm512_mask_expand_ps((__m512)x, place, (__m512)lanes); }
#else
typedef I Place;
inline Place place_of(V lanes, V x) { return ~(lanes < x); }
inline V pushed(V lanes, Place before, V x) {
  V moved = x;
  I shifted = before;
  for (int n = LANES - 1; n > 0; n--) moved[n] = lanes[n - 1], shifted[n] = before[n - 1];
  shifted[0] = -1;  // x itself stands in the first lane that is not before it
  return before ? lanes : shifted ? x : moved;
}
#endif

}  // namespace
