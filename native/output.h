// The output: weights times values, in one pass over the keys. What is mixed is relative to the peak so far,
// and multiplied down where that rises; the normaliser of each row comes with it.
#pragma once
#include "normalise.h"
#include "weights.h"

namespace {

// Vectors of values beside each other in a register block that takes no more rows than it must.
template <int ROWS>
constexpr int values_across() { return ACROSS * together(ROWS); }
constexpr int COLUMNS = ACROSS * LANES < VALUES ? VALUES : ACROSS * LANES;  // that go by together
constexpr int LEFT = ACROSS * LANES < VALUES ? ACROSS : VALUES / LANES;  // what is left goes in these steps

// Where a column of a panel's values begins.
inline const float* column_of(const Head& head, int64_t column) {
  return head.values + column / VALUES * head.apart + column % VALUES;
}

// mixed * fade + weights . values, of ROWS rows, keys `from` up to `stop` of a panel, VECTORS from `column` on.
// The sums of a panel begin at 0, so that rounding does not grow with the keys.
template <int ROWS, int VECTORS>
inline void mix(const float* weights, const Head& head, int64_t column, int64_t from, int64_t stop,
                const float* fade, float* mixed, int64_t wide) {
  V sums[ROWS][VECTORS];
  clear(sums);
  const float* at[VECTORS];
  const int64_t step = head.step;
  for (int x = 0; x < VECTORS; x++) at[x] = column_of(head, column + x * LANES);
  for (int64_t c = from; c < stop; c++) {
    V value[VECTORS];
    for (int x = 0; x < VECTORS; x++) value[x] = load(at[x] + c * step);
    for (int r = 0; r < ROWS; r++) {
      const V own = all(weights[r * PANEL + c]);
      for (int x = 0; x < VECTORS; x++) sums[r][x] = fma(own, value[x], sums[r][x]);
    }
  }
  for (int r = 0; r < ROWS; r++)
    for (int x = 0; x < VECTORS; x++) {
      float* into = mixed + r * wide + column + x * LANES;
      store(into, fma(load(into), all(fade[r]), sums[r][x]));
    }
}

template <int ROWS>
inline void mix_panel(const float* weights, const Head& head, int64_t from, int64_t stop, const float* fade,
                      float* mixed, int64_t wide) {
  constexpr int MANY = values_across<ROWS>();
  int64_t column = 0;
  for (; column + MANY * LANES <= wide; column += MANY * LANES)
    mix<ROWS, MANY>(weights, head, column, from, stop, fade, mixed, wide);
  for (; column < wide; column += LEFT * LANES)
    mix<ROWS, LEFT>(weights, head, column, from, stop, fade, mixed, wide);
}

struct Output {
  const Call& call;
  const Where& at;
  Room& room;
  int64_t out, wide;
  bool known;  // the normaliser: where weights are rounded they need it
  float peak[TALL], fade[TALL];
  double total[TALL];
  bool wild[TALL];  // rows that see a value that is no finite number

  void take(const float*, int64_t, const uint64_t* seen, int64_t begin, int64_t stop) {
    V sums[TILE + 2];
    clear(sums);
    for (int64_t r = begin; r < stop; r++) {
      const double faded = seen[r] && !known ? rise(room.scores + r * PANEL, peak[r]) : 1.0;
      fade[r] = (float)faded;
      total[r] *= faded;
    }
    for (int64_t r = begin; r < stop; r++) sums[r - begin] = row(r, seen[r]);
    add_sums(sums, stop - begin, total + begin);
  }

  void after(const float* packed, int64_t first, const uint64_t* seen) {
    uint64_t here[TALL / TILE] = {};
    for (int64_t r = 0; r < at.count; r++) here[r / TILE] |= seen[r];
    const Head& head = head_of(packed);
    mix_group(head, here);
    const uint64_t none = head.wild;
    for (int64_t r = 0; none && r < at.count; r++)
      for (uint64_t own = seen[r] & none; own; own &= own - 1) show(r, first + __builtin_ctzll(own));
  }

  // From a row's scores to its weights, in their place: final ones, or relative to the peak so far; returns the sums
  // of these.
  V row(int64_t r, uint64_t seen) {
    float* scores = room.scores + r * PANEL;
    V sums{};
    if (!seen) {
      for (int c = 0; c < PANEL; c += LANES) store(scores + c, V{});
    } else if (known) {
      weigh(call, scores, call.peak[out + r], call.logsum[out + r], seen, scores);
    } else {
      const V top = all(peak[r] == -__builtin_inff() ? 0.0f : peak[r]);
#pragma GCC unroll 4
      for (int c = 0; c < PANEL; c += LANES) {
        V gone = load(scores + c) - top;
        const V weight = exponential(gone);
        sums += weight;
        store(scores + c, weight);
      }
    }
    return sums;
  }

  // Columns of values stay in the nearest cache while all tiles of rows go by.
  void mix_group(const Head& head, const uint64_t* here) {
    const int64_t whole = at.count / TILE * TILE;
    for (int64_t column = 0; whole && column < wide; column += COLUMNS) {
      if (head.step == VALUES) fetch(column_of(head, column + COLUMNS), COLUMNS * PANEL);
      for (int64_t tile = 0; tile < whole; tile += TILE)
        if (here[tile / TILE]) mix_tile(tile, head, column, here[tile / TILE]);
    }
    if (whole == at.count || !here[whole / TILE]) return;
    const float *weights = room.scores + whole * PANEL, *less = fade + whole;
    float* mixed = room.mixed + whole * wide;
    const int64_t from = __builtin_ctzll(here[whole / TILE]), stop = PANEL - __builtin_clzll(here[whole / TILE]);
    switch (at.count - whole) {
      case 1: return mix_panel<1>(weights, head, from, stop, less, mixed, wide);
      case 2: return mix_panel<2>(weights, head, from, stop, less, mixed, wide);
      case 3: return mix_panel<3>(weights, head, from, stop, less, mixed, wide);
      case 4: return mix_panel<4>(weights, head, from, stop, less, mixed, wide);
      default: return mix_panel<5>(weights, head, from, stop, less, mixed, wide);
    }
  }

  void mix_tile(int64_t tile, const Head& head, int64_t column, uint64_t here) {
    const int64_t from = __builtin_ctzll(here), stop = PANEL - __builtin_clzll(here);
    const float *weights = room.scores + tile * PANEL, *less = fade + tile;
    float* mixed = room.mixed + tile * wide;
    if (column + COLUMNS <= wide) {
      for (int64_t n = column; n < column + COLUMNS; n += ACROSS * LANES)
        mix<TILE, ACROSS>(weights, head, n, from, stop, less, mixed, wide);
    } else {
      for (int64_t n = column; n < wide; n += LEFT * LANES)
        mix<TILE, LEFT>(weights, head, n, from, stop, less, mixed, wide);
    }
  }

  // Packed values hold 0 in place of NaN and inf: these go to the rows that see them, whatever their weight.
  void show(int64_t r, int64_t key) {
    float* shown = room.shown + r * wide;
    for (int64_t n = 0; !wild[r] && n < wide; n++) shown[n] = 0.0f;
    wild[r] = true;
    const int64_t* stride = call.v.stride;
    const int64_t from = at.b * stride[0] + at.h / (call.h / call.hk) * stride[1] + key * stride[2];
    for (int64_t n = 0; n < call.dv; n++) {
      const float value = float_of(call.v.data, from + n * stride[3], call.v.kind);
      if (!is_finite(value)) shown[n] += value;
    }
  }

  void finish() {
    const int64_t* stride = call.out.stride;
    float* whole = const_cast<float*>(static_cast<const float*>(call.out.data));
    for (int64_t r = 0; r < at.count; r++) {
      const float share = known ? 1.0f : (float)conclude(call, at.head_of(r), out + r, peak[r], total[r]);
      const float *mixed = room.mixed + r * wide, *shown = room.shown + r * wide;
      float* into = whole + at.b * stride[0] + at.head_of(r) * stride[1] + (at.row_of(r) - call.first) * stride[2];
      for (int64_t n = 0; n < call.dv; n++) into[n] = mixed[n] * share;
      for (int64_t n = 0; wild[r] && n < call.dv; n++) into[n] += shown[n];
    }
  }
};

void output(const Call& call, const Where& at, const Keys& keys, Room& room) {
  const int64_t out = (at.b * call.h + at.h) * (call.stop - call.first) + at.row - call.first;
  Output use{call, at, room, out, wide_of(call), call.peak != nullptr, {}, {}, {}, {}};
  for (int64_t r = 0; r < at.count; r++) use.peak[r] = -__builtin_inff();
  for (int64_t n = 0; n < at.count * use.wide; n++) room.mixed[n] = 0.0f;
  walk(call, at, keys, room, use);
  use.finish();
}

}  // namespace
