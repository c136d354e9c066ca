// What the fold keeps of each row: mass, w log w, the first key, moments of the distance, the largest scores.
#pragma once
#include "weights.h"

namespace {

inline int64_t bin_of(int64_t distance) {  // as core.distance has it
  return distance <= 64 ? distance : 128 - __builtin_clzll((distance - 1) >> 6);
}

inline int64_t apart(int64_t a, int64_t b) { return a < b ? b - a : a - b; }

// What stands at each key of a panel, counted from its middle, and the same backwards.
struct Middle {
  alignas(64) float up[PANEL], down[PANEL];
  constexpr Middle() : up(), down() {
    for (int c = 0; c < PANEL; c++) up[c] = c - (PANEL - 1) / 2.0f, down[c] = (PANEL - 1) / 2.0f - c;
  }
};
constexpr Middle MIDDLE;

// Distances of a panel's keys from one row, less `middle`: what is small enough to be squared in float32.
struct Distances {
  double middle;
  const float* from;
  alignas(64) float own[PANEL];

  Distances(int64_t position, int64_t first) {
    const bool before = first + PANEL - 1 <= position, after = first >= position;
    const double gap = (double)(first - position);
    middle = before ? -gap - (PANEL - 1) / 2.0 : after ? gap + (PANEL - 1) / 2.0 : 0.0;
    from = before ? MIDDLE.down : after ? MIDDLE.up : own;
    if (before || after) return;
    for (int c = 0; c < PANEL; c += LANES)
      store(own + c, magnitude(load(MIDDLE.up + c) + all((float)gap + (PANEL - 1) / 2.0f)));
  }
};

struct RowSums {
  double mass, plogp, first, one, two;  // one, two: of w times the distance, and its square
  float last;                           // the least of the largest scores so far

  void moments(float of, float by, float squared, double middle) {
    mass += of;
    one += middle * of + by;
    two += middle * (middle * of + 2.0 * by) + squared;
  }
};

inline bool beats(float a, float b) { return a > b || (a != a && b == b); }

// The largest scores of a row, the lowest key on ties; keys come in order. Memory holds whole vectors, and one
// vector before them.
inline void keep_top(const float* scores, uint64_t hits, int64_t first, int64_t size, float* top,
                     int32_t* keys) {
  for (; hits; hits &= hits - 1) {
    const int c = __builtin_ctzll(hits);
    const float score = scores[c];
    if (score == score && !(score > top[size - 1])) continue;  // the last has risen since
    int64_t place = 0;
    if (score != score) {
      while (place < size && top[place] != top[place]) place++;
    } else {
      for (int64_t n = 0; n < size; n += LANES)
        place += __builtin_popcount(lanes_of(~(load(top + n) < all(score))));
    }
    if (place >= size) continue;
    for (int64_t n = (size - 1) / LANES * LANES; n >= 0 && n + LANES > place; n -= LANES) {
      const I at = one_by_one() + (int32_t)n, here = at == (int32_t)place, before = at < (int32_t)place;
      const V was = load(top + n), moved = load(top + n - 1);
      store(top + n, here ? all(score) : before ? was : moved);
      const I held = bits(load(reinterpret_cast<float*>(keys) + n));
      const I pushed = bits(load(reinterpret_cast<float*>(keys) + n - 1));
      const I next = here ? (int32_t)(first + c) - I{} : before ? held : pushed;
      store(reinterpret_cast<float*>(keys) + n, floats(next));
    }
  }
}

// Sums of w times the distance from one of the keys, where that key has most of the panel's weight: beside it
// the others would be lost in the rounding of squares.
inline void around(const float* weights, const float* distances, int key, float& one, float& two) {
  const V own = all(distances[key]);
  V by{}, squared{};
  for (int c = 0; c < PANEL; c += LANES) {
    const V far = load(distances + c) - own, part = load(weights + c) * far;
    by += part;
    squared = fma(part, far, squared);
  }
  one = sum(by);
  two = sum(squared);
}

// Adds a panel to a row, and its weights to the sums of its keys; returns its mass.
inline float take_row(const float* weights, const float* logs, const float* scores, Distances& gone,
                      RowSums& row, uint64_t& hits, float* key_sums, float* key_most) {
  V mass{}, plogp{}, one{}, two{}, most{};
  const V last = all(row.last);
  hits = 0;
  for (int c = 0; c < PANEL; c += LANES) {
    const V w = load(weights + c), far = load(gone.from + c), part = w * far;
    mass += w;
    plogp = fma(w, load(logs + c), plogp);
    one += part;
    two = fma(part, far, two);
    most = larger(most, w);
    hits |= (uint64_t)lanes_of(~(load(scores + c) <= last)) << c;
    store(key_sums + c, load(key_sums + c) + w);
    store(key_most + c, larger(load(key_most + c), w));
  }
  const float of = sum(mass);
  float by = sum(one), squared = sum(two);
  double middle = gone.middle;
  if (any(most > all(0.25f * of)) && of > 1e-9 * row.mass) {
    const float peak = largest(most);
    uint64_t there = 0;
    for (int c = 0; c < PANEL; c += LANES) there |= (uint64_t)lanes_of(load(weights + c) == all(peak)) << c;
    const int key = there ? __builtin_ctzll(there) : 0;
    around(weights, gone.from, key, by, squared);
    middle += gone.from[key];
  }
  row.plogp += sum(plogp);
  row.moments(of, by, squared, middle);
  return of;
}

// w log w alone, and the sums of keys.
inline void take_entropy(const float* weights, const float* logs, RowSums& row, float* key_sums,
                         float* key_most) {
  V plogp{};
  for (int c = 0; c < PANEL; c += LANES) {
    const V w = load(weights + c);
    plogp = fma(w, load(logs + c), plogp);
    store(key_sums + c, load(key_sums + c) + w);
    store(key_most + c, larger(load(key_most + c), w));
  }
  row.plogp += sum(plogp);
}

// The same for keys alone.
inline void take_keys(const float* weights, float* key_sums, float* key_most) {
  for (int c = 0; c < PANEL; c += LANES) {
    const V w = load(weights + c);
    store(key_sums + c, load(key_sums + c) + w);
    store(key_most + c, larger(load(key_most + c), w));
  }
}

}  // namespace
