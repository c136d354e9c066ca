// Keys and queries as the register block wants them: float32, one panel of PANEL keys after another.
#pragma once
#include "kernels.h"
#include "numbers.h"

namespace {

constexpr int WIDE = LANES * ACROSS;  // keys of a register block

struct Head {  // what a panel begins with
  uint64_t valid, lost, wild;  // wild: keys of which a value is no finite number
  const float* values;         // of its first key, VALUES columns of them
  int64_t step, apart;         // from one key to the next, and from VALUES columns to the next
};
static_assert(sizeof(Head) <= HEAD * sizeof(float), "a head has room before its keys");

inline Head& head_of(float* panel) { return *reinterpret_cast<Head*>(panel); }
inline const Head& head_of(const float* panel) { return *reinterpret_cast<const Head*>(panel); }
inline const float* keys_of(const float* panel) { return panel + HEAD; }
inline const float* along_of(const Call& call, const float* panel) { return panel + HEAD + PANEL * call.d; }
inline float* values_of(const Call& call, float* panel) {
  return panel + HEAD + PANEL * (call.d + call.along_count);
}

// One number as the product takes it; q may be multiplied by the scale first, in its own dtype.
inline float taken(float x, const Call& call, bool scaled) {
  const Rounding& how = call.rounding;
  V one = rounded(all(x), how.inputs);
  if (scaled && how.q_first) one = rounded(rounded(one * all(call.scale), how.q_scaled), how.q_again);
  return one[0];
}

// Four numbers of each of TURNED keys, turned: what is put together as it is loaded needs no other step.
#if defined(__AVX512F__)
constexpr int TURNED = 16;
inline void turn_four(const float* key, int64_t apart, float* into) {
  __m512 k[4];
  for (int n = 0; n < 4; n++) {
    k[n] = _mm512_castps128_ps512(_mm_loadu_ps(key + n * apart));
    k[n] = _mm512_insertf32x4(k[n], _mm_loadu_ps(key + (n + 4) * apart), 1);
    k[n] = _mm512_insertf32x4(k[n], _mm_loadu_ps(key + (n + 8) * apart), 2);
    k[n] = _mm512_insertf32x4(k[n], _mm_loadu_ps(key + (n + 12) * apart), 3);
  }
  const __m512 a = _mm512_unpacklo_ps(k[0], k[1]), b = _mm512_unpackhi_ps(k[0], k[1]);
  const __m512 c = _mm512_unpacklo_ps(k[2], k[3]), e = _mm512_unpackhi_ps(k[2], k[3]);
  _mm512_storeu_ps(into, _mm512_shuffle_ps(a, c, 0x44));
  _mm512_storeu_ps(into + WIDE, _mm512_shuffle_ps(a, c, 0xee));
  _mm512_storeu_ps(into + 2 * WIDE, _mm512_shuffle_ps(b, e, 0x44));
  _mm512_storeu_ps(into + 3 * WIDE, _mm512_shuffle_ps(b, e, 0xee));
}
#elif defined(__AVX2__)
constexpr int TURNED = 8;
inline void turn_four(const float* key, int64_t apart, float* into) {
  __m256 k[4];
  for (int n = 0; n < 4; n++)
    k[n] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(key + n * apart)),
                                _mm_loadu_ps(key + (n + 4) * apart), 1);
  const __m256 a = _mm256_unpacklo_ps(k[0], k[1]), b = _mm256_unpackhi_ps(k[0], k[1]);
  const __m256 c = _mm256_unpacklo_ps(k[2], k[3]), e = _mm256_unpackhi_ps(k[2], k[3]);
  _mm256_storeu_ps(into, _mm256_shuffle_ps(a, c, 0x44));
  _mm256_storeu_ps(into + WIDE, _mm256_shuffle_ps(a, c, 0xee));
  _mm256_storeu_ps(into + 2 * WIDE, _mm256_shuffle_ps(b, e, 0x44));
  _mm256_storeu_ps(into + 3 * WIDE, _mm256_shuffle_ps(b, e, 0xee));
}
#else
constexpr int TURNED = 4;
inline void turn_four(const float* key, int64_t apart, float* into) {
#if defined(__SSE__)
  __m128 a = _mm_loadu_ps(key), b = _mm_loadu_ps(key + apart);
  __m128 c = _mm_loadu_ps(key + 2 * apart), e = _mm_loadu_ps(key + 3 * apart);
  _MM_TRANSPOSE4_PS(a, b, c, e);
  _mm_storeu_ps(into, a);
  _mm_storeu_ps(into + WIDE, b);
  _mm_storeu_ps(into + 2 * WIDE, c);
  _mm_storeu_ps(into + 3 * WIDE, e);
#else
  for (int p = 0; p < 4; p++)
    for (int c = 0; c < 4; c++) into[p * WIDE + c] = key[c * apart + p];
#endif
}
#endif

// WIDE keys, `apart` numbers from one to the next, into columns; memory is read in its order.
inline void turn(const float* key, int64_t apart, int64_t d, float* into) {
  for (int c = 0; c < WIDE; c += TURNED, key += TURNED * apart, into += TURNED) {
    int64_t p = 0;
    for (; p + 4 <= d; p += 4) turn_four(key + p, apart, into + p * WIDE);
    for (; p < d; p++)
      for (int n = 0; n < TURNED; n++) into[p * WIDE + n] = key[n * apart + p];
  }
}

// One key whose numbers lie one after the other, into a column.
inline void widen(const Call& call, int64_t at, float* into) {
  int64_t p = 0;
  for (; p + LANES <= call.d; p += LANES) {
    const V some = rounded(several_of(call.k.data, at + p, call.k.kind), call.rounding.inputs);
    for (int n = 0; n < LANES; n++) into[(p + n) * WIDE] = some[n];
  }
  for (; p < call.d; p++) into[p * WIDE] = taken(float_of(call.k.data, at + p, call.k.kind), call, false);
}

// The values of `count` keys from key `first` on; returns which of them are no finite numbers.
uint64_t pack_values(const Call& call, int64_t b, int64_t hk, int64_t first, int64_t count, float* into) {
  const int64_t* stride = call.v.stride;
  const int64_t at = b * stride[0] + hk * stride[1] + first * stride[2];
  uint64_t wild = 0;
  for (int64_t from = 0; from < call.dv; from += VALUES, into += VALUES * PANEL) {
    const int64_t held = call.dv - from < VALUES ? call.dv - from : VALUES;
    for (int64_t c = 0; c < PANEL; c++) {
      float* row = into + c * VALUES;
      const int64_t place = at + c * stride[2] + from * stride[3];
      if (c >= count) {
        for (int n = 0; n < VALUES; n += LANES) store(row + n, V{});
      } else if (held == VALUES && stride[3] == 1) {
        for (int n = 0; n < VALUES; n += LANES) store(row + n, several_of(call.v.data, place + n, call.v.kind));
      } else {
        for (int64_t n = 0; n < VALUES; n++)
          row[n] = n < held ? float_of(call.v.data, place + n * stride[3], call.v.kind) : 0.0f;
      }
      for (int n = 0; n < VALUES; n += LANES) {
        const V value = load(row + n);
        const I bad = ~(magnitude(value) < all(__builtin_inff()));
        if (!any(bad)) continue;
        wild |= 1ull << c;
        store(row + n, bad ? V{} : value);
      }
    }
  }
  return wild;
}

// The keys themselves, `count` of a panel from place `at` on, in the order of memory; 0 past the last.
void pack_keys(const Call& call, int64_t at, int64_t count, float* into) {
  const int64_t* stride = call.k.stride;
  const bool plain = call.k.kind == FLOAT32 && call.rounding.inputs == FLOAT32 && stride[3] == 1;
  const bool dense = call.k.kind != FLOAT64 && stride[3] == 1;
  for (int64_t from = 0; from < PANEL; from += WIDE) {
    float* block = into + from * call.d;
    const int64_t held = count - from < WIDE ? (count > from ? count - from : 0) : WIDE;
    if (plain && held == WIDE) {
      turn(static_cast<const float*>(call.k.data) + at + from * stride[2], stride[2], call.d, block);
      continue;
    }
    if (dense && held == WIDE) {
      for (int64_t c = 0; c < WIDE; c++) widen(call, at + (from + c) * stride[2], block + c);
      continue;
    }
    for (int64_t p = 0; p < call.d; p++)
      for (int64_t c = 0; c < WIDE; c++) {
        const int64_t place = at + (from + c) * stride[2] + p * stride[3];
        block[p * WIDE + c] = c < held ? taken(float_of(call.k.data, place, call.k.kind), call, false) : 0.0f;
      }
  }
}

// All of a panel but its keys and values: which of them are valid and lost, and what a certificate goes along.
void pack_beside(const Call& call, int64_t b, int64_t hk, int64_t first, int64_t count, float* into) {
  Head& head = head_of(into);
  head.valid = head.lost = head.wild = 0;
  for (int64_t c = 0; c < count; c++) {
    head.valid |= (uint64_t)(!call.valid || call.valid[b * call.tk + first + c]) << c;
    if (call.lost) head.lost |= (uint64_t)(call.lost[(b * call.hk + hk) * call.tk + first + c] != 0) << c;
  }
  float* along = into + HEAD + PANEL * call.d;
  for (int64_t m = 0; m < call.along_count; m++) {
    const float* from = call.along + ((b * call.hk + hk) * call.along_count + m) * call.tk + first;
    for (int64_t c = 0; c < PANEL; c++) along[m * PANEL + c] = c < count ? from[c] : 0.0f;
  }
}

// Whether `count` rows of numbers hold no NaN and no inf. size: a multiple of VALUES.
bool all_finite(const float* row, int64_t step, int64_t count, int64_t size) {
  V none[VALUES / LANES] = {};
  for (int64_t c = 0; c < count; c++, row += step)
    for (int64_t from = 0; from < size; from += VALUES)
      for (int n = 0; n < VALUES / LANES; n++) none[n] = fma(load(row + from + n * LANES), V{}, none[n]);
  for (int n = 1; n < VALUES / LANES; n++) none[0] += none[n];
  return !any(none[0] != none[0]);
}

// Points to the values of a panel where they lie, if they can be taken from there as they are.
bool point_to_values(const Call& call, int64_t at, int64_t count, Head& head) {
  if (call.v.kind != FLOAT32 || call.v.stride[3] != 1 || call.dv % VALUES) return false;
  const float* values = static_cast<const float*>(call.v.data) + at;
  if (!all_finite(values, call.v.stride[2], count, call.dv)) return false;
  head.values = values;
  head.step = call.v.stride[2];
  head.apart = VALUES;
  return true;
}

// One panel. once: it is read once, so that its values may stay where they lie.
void pack_panel(const Call& call, int64_t b, int64_t hk, int64_t panel, bool once, float* into) {
  const int64_t first = panel * PANEL, count = call.tk - first < PANEL ? call.tk - first : PANEL;
  pack_beside(call, b, hk, first, count, into);
  const int64_t* stride = call.k.stride;
  pack_keys(call, b * stride[0] + hk * stride[1] + first * stride[2], count, into + HEAD);
  if (!call.dv) return;
  stride = call.v.stride;
  Head& head = head_of(into);
  if (once && point_to_values(call, b * stride[0] + hk * stride[1] + first * stride[2], count, head)) return;
  float* values = values_of(call, into);
  head.wild = pack_values(call, b, hk, first, count, values);
  head.values = values;
  head.step = VALUES;
  head.apart = VALUES * PANEL;
}

void pack(const Call& call, int64_t b, int64_t hk, int64_t panel, int64_t stop, float* into) {
  for (; panel < stop; panel++, into += panel_size(call)) pack_panel(call, b, hk, panel, false, into);
}

// The rows of a group: blocks of TILE rows, d x TILE each, 0 past the last row.
void pack_rows(const Call& call, const Where& at, float* into) {
  const bool plain = call.q.kind == FLOAT32 && !call.rounding.q_first && !call.rounding.inputs;
  const int64_t whole = (at.count + TILE - 1) / TILE * TILE, *stride = call.q.stride, step = stride[3];
  for (int64_t r = 0; r < whole; r++) {
    float* row = into + r / TILE * TILE * call.d + r % TILE;
    if (r >= at.count) {
      for (int64_t p = 0; p < call.d; p++) row[p * TILE] = 0.0f;
      continue;
    }
    const int64_t from = at.b * stride[0] + at.head_of(r) * stride[1] + at.row_of(r) * stride[2];
    if (plain) {
      const float* own = static_cast<const float*>(call.q.data) + from;
      for (int64_t p = 0; p < call.d; p++) row[p * TILE] = own[p * step];
    } else {
      for (int64_t p = 0; p < call.d; p++)
        row[p * TILE] = taken(float_of(call.q.data, from + p * step, call.q.kind), call, true);
    }
  }
}

}  // namespace
