// Keys and queries as the register block wants them: float32, one panel of PANEL keys after another.
#pragma once
#include "kernels.h"
#include "numbers.h"

namespace {

constexpr int WIDE = LANES * ACROSS;  // keys of a register block

struct Head {  // what a panel begins with
  uint64_t valid, lost, wild;  // wild: keys of which a value is no finite number
};

inline Head& head_of(float* panel) { return *reinterpret_cast<Head*>(panel); }
inline const Head& head_of(const float* panel) { return *reinterpret_cast<const Head*>(panel); }
inline const float* keys_of(const float* panel) { return panel + HEAD; }
inline const float* along_of(const Call& call, const float* panel) { return panel + HEAD + PANEL * call.d; }
inline const float* values_of(const Call& call, const float* panel) {
  return panel + HEAD + PANEL * (call.d + call.along_count);
}

// One number as the product takes it; q may be multiplied by the scale first, in its own dtype.
inline float taken(float x, const Call& call, bool scaled) {
  const Rounding& how = call.rounding;
  V one = rounded(all(x), how.inputs);
  if (scaled && how.q_first) one = rounded(rounded(one * all(call.scale), how.q_scaled), how.q_again);
  return one[0];
}

// Four keys, `apart` numbers from one to the next, into columns WIDE numbers long.
inline void turn(const float* key, int64_t apart, int64_t d, float* into) {
  int64_t p = 0;
#if defined(__SSE__)
  for (; p + 4 <= d; p += 4) {
    __m128 a = _mm_loadu_ps(key + p), b = _mm_loadu_ps(key + apart + p);
    __m128 c = _mm_loadu_ps(key + 2 * apart + p), e = _mm_loadu_ps(key + 3 * apart + p);
    _MM_TRANSPOSE4_PS(a, b, c, e);
    _mm_storeu_ps(into + p * WIDE, a);
    _mm_storeu_ps(into + (p + 1) * WIDE, b);
    _mm_storeu_ps(into + (p + 2) * WIDE, c);
    _mm_storeu_ps(into + (p + 3) * WIDE, e);
  }
#endif
  for (; p < d; p++)
    for (int c = 0; c < 4; c++) into[p * WIDE + c] = key[c * apart + p];
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

void pack(const Call& call, int64_t b, int64_t hk, int64_t panel, int64_t stop, float* into) {
  const int64_t* stride = call.k.stride;
  const bool plain = call.k.kind == FLOAT32 && call.rounding.inputs == FLOAT32;
  const bool dense = call.k.kind != FLOAT64 && stride[3] == 1;
  for (; panel < stop; panel++, into += panel_size(call)) {
    const int64_t first = panel * PANEL, rest = call.tk - first, count = rest < PANEL ? rest : PANEL;
    uint64_t valid = 0, lost = 0;
    for (int64_t c = 0; c < count; c++) {
      valid |= (uint64_t)(!call.valid || call.valid[b * call.tk + first + c]) << c;
      if (call.lost) lost |= (uint64_t)(call.lost[(b * call.hk + hk) * call.tk + first + c] != 0) << c;
    }
    head_of(into).valid = valid;
    head_of(into).lost = lost;
    float* keys = into + HEAD;
    const int64_t at = b * stride[0] + hk * stride[1] + first * stride[2];
    for (int64_t from = 0; from < PANEL; from += WIDE) {  // written in the order of memory
      float* block = keys + from * call.d;
      const int64_t held = count - from < WIDE ? (count > from ? count - from : 0) : WIDE;
      if (plain && held == WIDE && stride[3] == 1) {
        const float* key = static_cast<const float*>(call.k.data) + at + from * stride[2];
        for (int c = 0; c < WIDE; c += 4) turn(key + c * stride[2], stride[2], call.d, block + c);
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
    float* along = keys + PANEL * call.d;
    for (int64_t m = 0; m < call.along_count; m++) {
      const float* from = call.along + ((b * call.hk + hk) * call.along_count + m) * call.tk + first;
      for (int64_t c = 0; c < PANEL; c++) along[m * PANEL + c] = c < count ? from[c] : 0.0f;
    }
    head_of(into).wild = call.dv ? pack_values(call, b, hk, first, count, along + PANEL * call.along_count) : 0;
  }
}

// The rows of a group: blocks of TILE rows, d x TILE each, 0 past the last row.
void pack_rows(const Call& call, const Where& at, float* into) {
  const int64_t* stride = call.q.stride;
  const int64_t whole = (at.count + TILE - 1) / TILE * TILE;
  for (int64_t r = 0; r < whole; r++) {
    float* row = into + r / TILE * TILE * call.d + r % TILE;
    const int64_t from = at.b * stride[0] + at.h * stride[1] + (at.row + r) * stride[2];
    for (int64_t p = 0; p < call.d; p++) {
      float x = r < at.count ? float_of(call.q.data, from + p * stride[3], call.q.kind) : 0.0f;
      row[p * TILE] = call.q.kind == FLOAT32 && !call.rounding.q_first && !call.rounding.inputs
                          ? x : taken(x, call, true);
    }
  }
}

}  // namespace
