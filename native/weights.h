// From scores to weights: of one row and one panel, 0 where not visible.
#pragma once
#include "scores.h"

namespace {

// Whether nothing is rounded on the way from scores to weights.
inline bool is_exact(const Rounding& how) {
  return !how.softmax && !how.weights && !how.subtracted;
}

constexpr int ACROSS_PANEL = PANEL / LANES;

// The weights of a row in a panel, 0 where not visible, and their logs: some number where a weight is 0.
struct Weights {
  alignas(64) float of[PANEL], log[PANEL];
};

// peak and logsum: of the row. EXACT: nothing is rounded on the way.
template <bool EXACT>
inline void weigh(const Call& call, const float* scores, float peak, float logsum, uint64_t seen, float* weights,
                  float* logs) {
  const Rounding& how = call.rounding;
  const V top = all(peak == -__builtin_inff() ? 0.0f : peak), rest = all(logsum);
#pragma GCC unroll 4
  for (int c = 0; c < PANEL; c += LANES) {
    V log = load(scores + c) - top;
    if (!EXACT) log = rounded(log, how.subtracted);
    log = log - rest;
    V weight = exponential(log);
    if (!EXACT) {
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

// The same of any rounding, weights alone.
inline void weigh(const Call& call, const float* scores, float peak, float logsum, uint64_t seen, float* weights) {
  alignas(64) float logs[PANEL];
  return is_exact(call.rounding) ? weigh<true>(call, scores, peak, logsum, seen, weights, logs)
                                 : weigh<false>(call, scores, peak, logsum, seen, weights, logs);
}

}  // namespace
