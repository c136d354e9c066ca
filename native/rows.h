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

  void add(const float* weights) {
#pragma GCC unroll 4
    for (int c = 0; c < PANEL; c += LANES) {
      store(sums + c, load(sums + c) + load(weights + c));
      store(most + c, larger(load(most + c), load(weights + c)));
    }
  }
};

// What a panel adds to a row, lane by lane: its mass, w log w, w times the distance and its square, and the
// largest weight.
struct Parts {
  V mass, plogp, one, two, most;
};

inline V largest_of(const float* weights) {
  V most{};
  for (int c = 0; c < PANEL; c += LANES) most = larger(most, load(weights + c));
  return most;
}

// Returns which of the scores are among the largest of the row.
inline uint64_t part(const Weights& weights, const float* scores, const float* distances, float least, Parts& found) {
  V mass{}, plogp{}, one{}, two{}, most{};
  const V last = all(least);
  uint64_t hits = 0;
#pragma GCC unroll 4
  for (int c = 0; c < PANEL; c += LANES) {
    const V w = load(weights.of + c), far = load(distances + c), moved = w * far;
    mass += w;
    plogp = fma(w, load(weights.log + c), plogp);
    one += moved;
    two = fma(moved, far, two);
    most = larger(most, w);
    hits |= (uint64_t)not_at_most(load(scores + c), last) << c;
  }
  found = {mass, plogp, one, two, most};
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

// w log w alone.
inline void take_entropy(const Weights& weights, RowSums& row) {
  V plogp{};
  for (int c = 0; c < PANEL; c += LANES) plogp = fma(load(weights.of + c), load(weights.log + c), plogp);
  row.plogp += sum(plogp);
}

}  // namespace
