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

  void set(int64_t position, int64_t first) {
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

// Of hits in a panel those that may stay among the `size` largest: so many groups of keys have a largest score of
// their own, and none below the least of these can.
inline uint64_t likely(const float* scores, uint64_t hits, int64_t size) {
  if (__builtin_popcountll(hits) <= size || size > LANES / 2) return hits;
  V most = load(scores);
  for (int c = LANES; c < PANEL; c += LANES) most = larger(load(scores + c), most);
  const V least = all(least_of_pairs(most));
  uint64_t found = 0;
  for (int c = 0; c < PANEL; c += LANES) found |= (uint64_t)not_below(load(scores + c), least) << c;
  return hits & found;
}

// Puts a number at a place of a list; what stood there and after it moves on by one, the last one out.
inline void push(float* numbers, int64_t size, int64_t place, V number) {
  for (int64_t n = (size - 1) / LANES * LANES; n >= 0 && n + LANES > place; n -= LANES) {
    const I at = one_by_one() + (int32_t)n;
    const V was = load(numbers + n), moved = load(numbers + n - 1);
    store(numbers + n, at == (int32_t)place ? number : at < (int32_t)place ? was : moved);
  }
}

// The largest scores of a row, the lowest key on ties; keys come in order. Memory holds whole vectors, and one
// vector before them.
inline void keep_top(const float* scores, uint64_t hits, int64_t first, int64_t size, float* top, int32_t* keys) {
  float* numbers = reinterpret_cast<float*>(keys);
  if (size <= LANES) hits = likely(scores, hits, size);
  for (; hits; hits &= hits - 1) {
    const int c = __builtin_ctzll(hits);
    const V score = all(scores[c]), key = floats((int32_t)(first + c) - I{});
    if (__builtin_expect(scores[c] == scores[c] && size <= LANES, 1)) {
      // without a branch: what is no more among the largest moves nothing that counts
      const auto place = place_of(load(top), score);
      store(top, pushed(load(top), place, score));
      store(numbers, pushed(load(numbers), place, key));
      continue;
    }
    int64_t place = 0;
    while (place < size && !(scores[c] > top[place]) && (scores[c] == scores[c] || top[place] != top[place])) place++;
    if (place >= size) continue;
    push(top, size, place, score);
    push(numbers, size, place, key);
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

// What strips of rows give to the keys of a panel.
struct KeySums {
  alignas(64) float sums[PANEL], most[PANEL];

  void clear() {
    for (int c = 0; c < PANEL; c += LANES) store(sums + c, V{}), store(most + c, V{});
  }
};

// What a panel adds to a row, lane by lane: its mass, w log w, w times the distance and its square, and the
// largest weight.
struct Parts {
  V mass, plogp, one, two, most;
};

// The columns of a panel that a certificate multiplies weights with, and where a row's sums of them are.
struct Along {
  const float* columns;
  float *sums, *tilts;
};

constexpr int SUMS = 6, TILTS = 2;  // of a certificate with one vector of signs
constexpr bool AT_ONCE = LANES == 16;  // whether there are registers enough to do all in one go

// All of a row and a panel in one go: from scores to weights (READY: they are there), and from these what the row,
// the keys and, where it is PROBED, the certificate are given. Returns which scores are among the row's largest.
template <bool READY, bool PROBED>
inline uint64_t pass(const float* scores, V top, V rest, V last, const float* distances, const Along& along,
                     KeySums& keys, Weights& weights, Parts& parts) {
  V mass{}, plogp{}, one{}, two{}, most{}, sums[SUMS], tilts[TILTS];
  uint64_t hits = 0;
#pragma GCC unroll 8
  for (int m = 0; PROBED && m < SUMS; m++) sums[m] = load(along.sums + m * LANES);
#pragma GCC unroll 8
  for (int m = 0; PROBED && m < TILTS; m++) tilts[m] = load(along.tilts + m * LANES);
#pragma GCC unroll 4
  for (int c = 0; c < PANEL; c += LANES) {
    const V score = load(scores + c), far = load(distances + c);
    V log = READY ? load(weights.log + c) : (score - top) - rest;
    const V w = READY ? load(weights.of + c) : exponential(log), moved = w * far;
    if (!READY) store(weights.of + c, w);
    mass += w;
    plogp = fma(w, log, plogp);
    one += moved;
    two = fma(moved, far, two);
    most = larger(most, w);
    hits |= (uint64_t)not_at_most(score, last) << c;
    store(keys.sums + c, load(keys.sums + c) + w);
    store(keys.most + c, larger(load(keys.most + c), w));
    if (!PROBED) continue;
    const V tilt = w * log;
#pragma GCC unroll 8
    for (int m = 0; m < SUMS; m++) {
      const V column = load(along.columns + m * PANEL + c);
      sums[m] = fma(w, column, sums[m]);
      if (m < TILTS) tilts[m] = fma(tilt, column, tilts[m]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; PROBED && m < SUMS; m++) store(along.sums + m * LANES, sums[m]);
#pragma GCC unroll 8
  for (int m = 0; PROBED && m < TILTS; m++) store(along.tilts + m * LANES, tilts[m]);
  parts = {mass, plogp, one, two, most};
  return hits;
}

// Adds a panel to a row. sums: those of its parts, but the largest weight.
inline void add_parts(const Weights& weights, const V& most, float* sums, const float* distances, double middle,
                      RowSums& row) {
  const float of = sums[0];
  if (any_above(most, all(0.25f * of)) && of > 1e-9 * row.mass) {
    const V peak = all(largest(most));
    uint64_t there = 0;
    for (int c = 0; c < PANEL; c += LANES) there |= (uint64_t)lanes_of(load(weights.of + c) == peak) << c;
    const int key = there ? __builtin_ctzll(there) : 0;
    around(weights.of, distances, key, sums[2], sums[3]);
    middle += distances[key];
  }
  row.plogp += sums[1];
  row.moments(of, sums[2], sums[3], middle);
}

}  // namespace
