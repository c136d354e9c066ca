// The sums that a certificate is made of: weights of each row times numbers of each key.
#pragma once
#include "weights.h"

namespace {

constexpr int STRETCH = 8;  // panels whose numbers are added in float32
constexpr float FARTHEST = 1e15f;  // as core.probe has it: what fits, squared

// Adds the sums of x (PANEL) times COUNT rows of `along` to vectors.
template <int COUNT>
inline void add_along(const float* x, const float* along, float* lanes) {
  V sums[COUNT];
  for (int m = 0; m < COUNT; m++) sums[m] = load(lanes + m * LANES);
  for (int c = 0; c < PANEL; c += LANES) {
    const V own = load(x + c);
    for (int m = 0; m < COUNT; m++) sums[m] = fma(own, load(along + m * PANEL + c), sums[m]);
  }
  for (int m = 0; m < COUNT; m++) store(lanes + m * LANES, sums[m]);
}

inline void add_along(const float* x, const float* along, int64_t count, float* lanes) {
  for (; count >= 6; count -= 6, along += 6 * PANEL, lanes += 6 * LANES) add_along<6>(x, along, lanes);
  switch (count) {
    case 5: return add_along<5>(x, along, lanes);
    case 4: return add_along<4>(x, along, lanes);
    case 3: return add_along<3>(x, along, lanes);
    case 2: return add_along<2>(x, along, lanes);
    case 1: return add_along<1>(x, along, lanes);
    default: return;
  }
}

struct Probing {
  const Call& call;
  const Where& at;
  Room& room;
  int64_t out;
  int64_t tilts = 0, squares = 0, count = 0, panels = 0;
  float largest_of[GROUP] = {};
  bool lost[GROUP] = {};

  void begin() {
    if (!call.along_count) return;
    tilts = 1 + call.signs;
    squares = call.added ? 2 + call.signs : 0;
    count = call.along_count + tilts + squares;
    for (int64_t n = 0; n < at.count * count * LANES; n++) room.lanes[n] = 0.0f;
    for (int64_t n = 0; n < at.count * count; n++) room.probed[n] = 0.0;
  }

  void take(const float* packed, int64_t r, uint64_t seen, const float* scores, const float* weights,
            const float* logs) {
    alignas(64) float tilt[PANEL], square[PANEL];
    const bool exact = is_exact(call.rounding);
    const float* along = along_of(call, packed);
    float* lanes = room.lanes + r * count * LANES;
    const float* scaled = room.scaled + r * PANEL;
    const V least = all(-3.40282347e38f);
    V most = all(largest_of[r]);
    for (int c = 0; c < PANEL; c += LANES) {
      const V w = load(weights + c), log = load(logs + c), score = load(scores + c);
      most = larger(most, w);
      V by = !call.plain ? load(scaled + c) : exact ? log : larger(least, score);
      if (!call.plain) by = w != V{} ? by : V{};
      store(tilt + c, w * by);
      if (squares) {
        V size = larger(all(-FARTHEST), score);
        size = size > all(FARTHEST) ? all(FARTHEST) : size;
        store(square + c, w * size * size);
      }
    }
    largest_of[r] = largest(most);
    lost[r] |= (seen & head_of(packed).lost) != 0;
    add_along(weights, along, call.along_count, lanes);
    add_along(tilt, along, tilts, lanes + call.along_count * LANES);
    if (squares) add_along(square, along, squares, lanes + (call.along_count + tilts) * LANES);
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
