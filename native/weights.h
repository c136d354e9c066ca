// From scores to weights: of one row and one panel, 0 where not visible.
#pragma once
#include "scores.h"

namespace {

// Whether nothing is rounded on the way from scores to weights.
inline bool is_exact(const Rounding& how) {
  return !how.softmax && !how.weights && !how.subtracted;
}

// peak and logsum of a row. weights, logs: PANEL each; where a weight is 0 its log is some number.
inline void weigh(const Call& call, const float* scores, float peak, float logsum, uint64_t seen,
                  float* weights, float* logs) {
  const Rounding& how = call.rounding;
  const V top = all(peak == -__builtin_inff() ? 0.0f : peak), rest = all(logsum);
  const bool exact = is_exact(how);
  for (int c = 0; c < PANEL; c += LANES) {
    V log = load(scores + c) - top;
    if (!exact) log = rounded(log, how.subtracted);
    log = log - rest;
    V weight = exponential(log);
    if (!exact) {
      weight = rounded(rounded(weight, how.softmax), how.weights);
      log = logarithm(larger(all(0x1p-126f), weight));
    }
    store(weights + c, weight);
    store(logs + c, log);
  }
  if (seen == ~0ull) return;
  for (int c = 0; c < PANEL; c += LANES) {
    const I here = spread(seen, c);
    store(weights + c, here ? load(weights + c) : V{});
    store(logs + c, here ? load(logs + c) : V{});
  }
}

}  // namespace
