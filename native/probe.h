// The sums that a certificate is made of: weights of each row times numbers of each key.
#pragma once
#include "rows.h"

namespace {

constexpr int STRETCH = 8;  // panels whose numbers are added in float32
constexpr float FARTHEST = 1e15f;  // as core.probe has it: what fits, squared

// Adds to vectors the sums of x (PANEL) times COUNT rows of `along`.
template <int COUNT>
inline void add_along(const float* x, const float* along, float* lanes) {
  V sums[COUNT];
#pragma GCC unroll 4
  for (int m = 0; m < COUNT; m++) sums[m] = load(lanes + m * LANES);
  for (int c = 0; c < PANEL; c += LANES)
#pragma GCC unroll 4
    for (int m = 0; m < COUNT; m++) sums[m] = fma(load(x + c), load(along + m * PANEL + c), sums[m]);
#pragma GCC unroll 4
  for (int m = 0; m < COUNT; m++) store(lanes + m * LANES, sums[m]);
}

inline void add_along(const float* x, const float* along, int64_t count, float* lanes) {
  for (; count >= 4; count -= 4, along += 4 * PANEL, lanes += 4 * LANES) add_along<4>(x, along, lanes);
  for (; count; count--, along += PANEL, lanes += LANES) add_along<1>(x, along, lanes);
}

struct Probing {
  const Call& call;
  const Where& at;
  Room& room;
  int64_t out;
  int64_t tilts = 0, squares = 0, count = 0, panels = 0;
  float largest_of[TALL] = {};
  bool lost[TALL] = {};

  void begin() {
    if (!call.along_count) return;
    tilts = 1 + call.signs;
    squares = call.added ? 2 + call.signs : 0;
    count = call.along_count + tilts + squares;
    for (int64_t n = 0; n < at.count * count * LANES; n++) room.lanes[n] = 0.0f;
    for (int64_t n = 0; n < at.count * count; n++) room.probed[n] = 0.0;
  }

  // Whether a row's sums are such as `pass` makes of weights and their logs.
  bool simple() const { return call.along_count == SUMS && call.signs + 1 == TILTS && call.plain && !squares; }

  Along along_row(const float* packed, int64_t r) const {
    float* lanes = room.lanes + r * count * LANES;
    return {along_of(call, packed), lanes, lanes + call.along_count * LANES};
  }

  void note(const float* packed, int64_t r, uint64_t seen, V most) {
    if (any_above(most, all(largest_of[r]))) largest_of[r] = largest(most);
    lost[r] |= (seen & head_of(packed).lost) != 0;
  }

  // The sums of a row whose weights are tilted by their logs, where BY_LOGS, or by what is not simple.
  template <bool BY_LOGS>
  void take(const float* packed, int64_t r, const float* scores, const Weights& weights) {
    alignas(64) float held[PANEL];
    const Along to = along_row(packed, r);
    const float *along = to.columns, *scaled = call.plain ? scores : room.scaled + r * PANEL;
    for (int c = 0; c < PANEL; c += LANES) {  // where a weight is 0 a score may be no number to multiply it by
      const V w = load(weights.of + c);
      V by = load((BY_LOGS ? weights.log : scaled) + c);
      if (!BY_LOGS) by = call.plain ? larger(all(-3.40282347e38f), by) : w != V{} ? by : V{};
      store(held + c, w * by);
    }
    add_along(weights.of, along, call.along_count, to.sums);
    add_along(held, along, tilts, to.tilts);
    if (!squares) return;
    for (int c = 0; c < PANEL; c += LANES) {
      V size = larger(all(-FARTHEST), load(scores + c));
      size = size > all(FARTHEST) ? all(FARTHEST) : size;
      store(held + c, load(weights.of + c) * size * size);
    }
    add_along(held, along, squares, to.tilts + tilts * LANES);
  }

  void after_panel() {
    if (call.along_count && ++panels == STRETCH) settle();
  }

  void settle() {
    panels = 0;
    const int64_t whole = at.count * count;
    for (int64_t n = 0; n < whole; n += 4) {
      V four[4]{};
      float sums[4];
      for (int64_t m = 0; m < 4 && n + m < whole; m++) {
        four[m] = load(room.lanes + (n + m) * LANES);
        store(room.lanes + (n + m) * LANES, V{});
      }
      sums_of(four[0], four[1], four[2], four[3], sums);
      for (int64_t m = 0; m < 4 && n + m < whole; m++) room.probed[n + m] += sums[m];
    }
  }

  void finish() {
    if (!call.along_count) return;
    settle();
    for (int64_t r = 0; r < at.count; r++) {
      const double* from = room.probed + r * count;
      const int64_t to = out + r;
      for (int64_t m = 0; m < call.along_count; m++) call.probe_sums[to * call.along_count + m] = *from++;
      for (int64_t m = 0; m < tilts; m++) call.probe_tilts[to * tilts + m] = *from++;
      for (int64_t m = 0; m < squares; m++) call.probe_squares[to * squares + m] = *from++;
      const double mass = call.probe_sums[to * call.along_count];
      call.probe_largest[to] = mass != mass ? __builtin_nanf("") : largest_of[r];
      call.probe_lost[to] = lost[r];
    }
  }
};

}  // namespace
