// The sums that a certificate is made of: weights of each row times numbers of each key.
#pragma once
#include "weights.h"

namespace {

constexpr int STRETCH = 8;  // panels whose numbers are added in float32
constexpr float FARTHEST = 1e15f;  // as core.probe has it: what fits, squared

// Adds to vectors the sums over a panel of weights times COUNT rows of `along`, and those of weights times `by`
// times the first TILTS of them.
template <int COUNT, int TILTS>
inline void add_along(const float* weights, const float* by, const float* along, float* lanes, float* tilted) {
  V sums[COUNT + 1], tilts[TILTS + 1];
#pragma GCC unroll 8
  for (int m = 0; m < COUNT; m++) sums[m] = load(lanes + m * LANES);
#pragma GCC unroll 8
  for (int m = 0; m < TILTS; m++) tilts[m] = load(tilted + m * LANES);
#pragma GCC unroll 4
  for (int c = 0; c < PANEL; c += LANES) {
    const V own = load(weights + c), tilt = TILTS ? own * load(by + c) : own;
#pragma GCC unroll 8
    for (int m = 0; m < COUNT; m++) sums[m] = fma(own, load(along + m * PANEL + c), sums[m]);
#pragma GCC unroll 8
    for (int m = 0; m < TILTS; m++) tilts[m] = fma(tilt, load(along + m * PANEL + c), tilts[m]);
  }
#pragma GCC unroll 8
  for (int m = 0; m < COUNT; m++) store(lanes + m * LANES, sums[m]);
#pragma GCC unroll 8
  for (int m = 0; m < TILTS; m++) store(tilted + m * LANES, tilts[m]);
}

// The sums of one kind alone, of any number of rows.
inline void add_sums(const float* weights, const float* along, int64_t count, float* lanes) {
  for (; count >= 4; count -= 4, along += 4 * PANEL, lanes += 4 * LANES)
    add_along<4, 0>(weights, nullptr, along, lanes, nullptr);
  for (; count; count--, along += PANEL, lanes += LANES) add_along<1, 0>(weights, nullptr, along, lanes, nullptr);
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

  template <bool EXACT>
  void take(const float* packed, int64_t r, uint64_t seen, const float* scores, const Weights& weights, V most) {
    alignas(64) float held[PANEL];
    const float *along = along_of(call, packed), *by = call.plain ? scores : room.scaled + r * PANEL;
    float *lanes = room.lanes + r * count * LANES, *tilted = lanes + call.along_count * LANES;
    if (any_above(most, all(largest_of[r]))) largest_of[r] = largest(most);
    lost[r] |= (seen & head_of(packed).lost) != 0;
    if (EXACT && call.plain) {
      by = weights.log;
    } else {  // where a weight is 0 this may be no number that one can multiply by
      for (int c = 0; c < PANEL; c += LANES) {
        const V some = load(by + c);
        store(held + c, call.plain ? larger(all(-3.40282347e38f), some) : load(weights.of + c) != V{} ? some : V{});
      }
      by = held;
    }
    if (call.signs == 1) {
      add_along<6, 2>(weights.of, by, along, lanes, tilted);
    } else {
      alignas(64) float tilt[PANEL];
      for (int c = 0; c < PANEL; c += LANES) store(tilt + c, load(weights.of + c) * load(by + c));
      add_sums(weights.of, along, call.along_count, lanes);
      add_sums(tilt, along, tilts, tilted);
    }
    if (!squares) return;
    for (int c = 0; c < PANEL; c += LANES) {
      V size = larger(all(-FARTHEST), load(scores + c));
      size = size > all(FARTHEST) ? all(FARTHEST) : size;
      store(held + c, load(weights.of + c) * size * size);
    }
    add_sums(held, along, squares, tilted + tilts * LANES);
  }

  void after_panel() {
    if (call.along_count && ++panels == STRETCH) settle();
  }

  void settle() {
    panels = 0;
    for (int64_t n = 0; n < at.count * count; n++) {
      room.probed[n] += sum(load(room.lanes + n * LANES));
      store(room.lanes + n * LANES, V{});
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
