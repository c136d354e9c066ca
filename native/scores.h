// The scores of a group of rows and a panel of keys: q.k, scaled, capped, biased, and -inf where not visible.
#pragma once
#include "pack.h"

namespace {

// Register blocks side by side, so that few rows keep the multipliers busy as well.
constexpr int together(int rows) {
  const int most = rows == 1 ? 4 : rows <= 3 ? 2 : 1;
  return PANEL / WIDE < most ? PANEL / WIDE : most;
}

// All sums 0, one by one: as `= {}` compilers clear them in memory, and then load them.
template <int ROWS, int VECTORS>
inline void clear(V (&sums)[ROWS][VECTORS]) {
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
    for (int x = 0; x < VECTORS; x++) sums[r][x] = V{};
}

template <int COUNT>
inline void clear(V (&sums)[COUNT]) {
#pragma GCC unroll 8
  for (int n = 0; n < COUNT; n++) sums[n] = V{};
}

// What the product is multiplied by at once: the scale, where nothing is rounded before it.
inline float scale_at_once(const Call& call) {
  const Rounding& how = call.rounding;
  return how.q_first || how.products || how.scaled ? 1.0f : call.scale;
}

// q.k times `scale` of ROWS rows and MANY blocks of keys. Each cell is summed in the order of d, whatever the rows.
// By itself, so that the compiler has all registers for it.
template <int ROWS, int MANY>
__attribute__((noinline)) void product(const float* q, const float* keys, int64_t d, float scale, float* into) {
  V sums[MANY * ROWS][ACROSS];
  clear(sums);
  for (int64_t p = 0; p < d; p++)
    for (int m = 0; m < MANY; m++) {
      V key[ACROSS];
      for (int x = 0; x < ACROSS; x++) key[x] = load(keys + (m * d + p) * WIDE + x * LANES);
      for (int r = 0; r < ROWS; r++) {
        const V own = all(q[p * TILE + r]);
        for (int x = 0; x < ACROSS; x++) sums[m * ROWS + r][x] = fma(own, key[x], sums[m * ROWS + r][x]);
      }
    }
  for (int m = 0; m < MANY; m++)
    for (int r = 0; r < ROWS; r++)
      for (int x = 0; x < ACROSS; x++)
        store(into + r * PANEL + m * WIDE + x * LANES, sums[m * ROWS + r][x] * all(scale));
}

template <int ROWS>
inline void product_of_panel(const float* q, const float* keys, int64_t d, float scale, float* into) {
  constexpr int MANY = together(ROWS);
  for (int64_t from = 0; from < PANEL; from += WIDE * MANY)
    product<ROWS, MANY>(q, keys + from * d, d, scale, into + from);
}

// Asks for numbers that are wanted soon.
inline void fetch(const float* from, int64_t count) {
  for (int64_t n = 0; n < count; n += 16) __builtin_prefetch(from + n, 0, 2);
}

// q.k of a tile of rows and one panel.
inline void products(const Call& call, int64_t rows, const float* q, const float* panel, float* scores) {
  const float *keys = keys_of(panel), scale = scale_at_once(call);
  switch (rows) {
    case 1: return product_of_panel<1>(q, keys, call.d, scale, scores);
    case 2: return product_of_panel<2>(q, keys, call.d, scale, scores);
    case 3: return product_of_panel<3>(q, keys, call.d, scale, scores);
    case 4: return product_of_panel<4>(q, keys, call.d, scale, scores);
    case 5: return product_of_panel<5>(q, keys, call.d, scale, scores);
    default: return product_of_panel<TILE>(q, keys, call.d, scale, scores);
  }
}

// PANEL numbers of the bias of one row, from key `first` on.
const float* bias_of(const Call& call, int64_t b, int64_t h, int64_t row, int64_t first, float* room) {
  const Array& bias = call.bias;
  int64_t from = b * bias.stride[0] + h * bias.stride[1], count = PANEL, step = bias.stride[3];
  if (call.bias_kind == BY_DISTANCE) {
    const int64_t slot = first - row - call.offset - call.bias_first, last = call.bias_size - 1;
    if (slot < 0 || slot + PANEL - 1 > last) {  // what the table does not hold is not visible
      for (int64_t c = 0; c < PANEL; c++) {
        const int64_t near = slot + c < 0 ? 0 : slot + c > last ? last : slot + c;
        room[c] = float_of(bias.data, from + near * step, bias.kind);
      }
      return room;
    }
    from += slot * step;
  } else {
    from += row * bias.stride[2] + first * step;
    if (call.tk - first < count) count = call.tk - first;
  }
  if (bias.kind == FLOAT32 && step == 1 && count == PANEL) return static_cast<const float*>(bias.data) + from;
  for (int64_t c = 0; c < PANEL; c++)
    room[c] = c < count ? float_of(bias.data, from + c * step, bias.kind) : 0.0f;
  return room;
}

// From q.k to a score as `core.scores.biased` has it, each step rounded as the model rounds it.
void finish(const Call& call, const Where& at, int64_t r, int64_t first, float* scores, float* scaled,
            float* room) {
  const Rounding& how = call.rounding;
  const float* bias = call.bias_kind ? bias_of(call, at.b, at.head_of(r), at.row_of(r), first, room) : nullptr;
  const V cap = all(call.softcap);
  for (int c = 0; c < PANEL; c += LANES) {
    V x = load(scores + c);
    if (how.products) x = rounded(x, how.products);
    if (how.scaled || how.products) {
      x = rounded(x, how.scaled);
      if (!how.q_first) x = rounded(x * all(call.scale), how.scaled);
    }
    if (scaled) store(scaled + c, x);
    V added = bias ? rounded(load(bias + c), how.scaled) : V{};
    if (bias && call.bias_inside) x = rounded(x + added, how.scaled);
    if (call.softcap != 0.0f) {
      x = rounded(tangent(rounded(x / cap, how.scaled)), how.scaled);
      x = rounded(x * cap, how.scaled);
    }
    if (bias && !call.bias_inside) x = rounded(x + added, how.scaled);
    store(scores + c, rounded(x, how.fused));
  }
}

// Whether finish() has anything to do.
inline bool is_plain(const Call& call) {
  const Rounding& how = call.rounding;
  return !call.bias_kind && call.softcap == 0.0f && !how.products && !how.scaled && !how.fused;
}

inline uint64_t below(int64_t count) {  // the bits under `count`
  return count >= PANEL ? ~0ull : count <= 0 ? 0 : (1ull << count) - 1;
}

// The keys of a panel that a row sees, one bit each. `from`: spans before it end before this panel.
inline uint64_t seen_of(const int64_t* lo, const int64_t* hi, int64_t spans, int64_t first, int64_t& from) {
  while (from < spans && hi[from] <= first) from++;
  uint64_t found = 0;
  for (int64_t s = from; s < spans && lo[s] < first + PANEL; s++)
    found |= below(hi[s] - first) & ~below(lo[s] - first);
  return found;
}

// Calls use.take(panel, first key, what each row sees, rows from, up to) for every tile of rows that sees a key of a
// panel, while its scores are near, and use.after(panel, first key, what each row sees) once the group is through.
template <class Use>
void walk(const Call& call, const Where& at, const Keys& keys, Room& room, Use& use) {
  const int64_t size = panel_size(call), hk = at.h / (call.h / call.hk);
  const bool plain = is_plain(call);
  int64_t from[TALL] = {}, edge[TALL], least = INT64_MAX, most = -1;
  auto after = [&](int64_t key) { return key < call.col_first ? call.col_first : key; };
  auto before = [&](int64_t key) { return key > call.col_stop ? call.col_stop : key; };
  for (int64_t r = 0; r < at.count; r++) {
    edge[r] = at.b * call.edge_stride[0] + at.head_of(r) * call.edge_stride[1] + at.row_of(r) * call.edge_stride[2];
    for (int64_t s = 0; s < call.spans; s++) {
      const int64_t lo = after(call.lo[edge[r] + s]), hi = before(call.hi[edge[r] + s]);
      if (hi <= lo) continue;
      least = lo / PANEL < least ? lo / PANEL : least;
      most = (hi - 1) / PANEL > most ? (hi - 1) / PANEL : most;
    }
  }
  if (most < 0) return;
  for (int64_t panel = least; panel <= most + 1; panel++) room.marks[panel] = 0;
  for (int64_t r = 0; r < at.count; r++)
    for (int64_t s = 0; s < call.spans; s++) {
      const int64_t lo = after(call.lo[edge[r] + s]), hi = before(call.hi[edge[r] + s]);
      if (hi <= lo) continue;
      room.marks[lo / PANEL]++;
      room.marks[(hi - 1) / PANEL + 1]--;
    }
  pack_rows(call, at, room.q);
  int32_t open = 0;
  for (int64_t panel = least; panel <= most; panel++) {
    open += room.marks[panel];
    if (!open) continue;
    const int64_t first = panel * PANEL;
    const float* packed = keys.packed ? keys.packed + (panel - keys.first) * size : room.panel;
    if (!keys.packed) pack_panel(call, at.b, hk, panel, true, room.panel);
    uint64_t seen[TALL], some = 0;
    const uint64_t open_to = head_of(packed).valid & below(call.col_stop - first) & ~below(call.col_first - first);
    for (int64_t r = 0; r < at.count; r++) {
      seen[r] = seen_of(call.lo + edge[r], call.hi + edge[r], call.spans, first, from[r]) & open_to;
      some |= seen[r];
    }
    if (!some) continue;
    const int64_t share = keys.packed ? (size * TILE + at.count - 1) / at.count : 0;  // of the next panel
    for (int64_t tile = 0; tile < at.count; tile += TILE) {
      const int64_t stop = tile + TILE < at.count ? tile + TILE : at.count;
      fetch(packed + size + tile / TILE * share, share);
      uint64_t here = 0;
      for (int64_t r = tile; r < stop; r++) here |= seen[r];
      if (!here) continue;
      products(call, stop - tile, room.q + tile * call.d, packed, room.scores + tile * PANEL);
      for (int64_t r = tile; r < stop; r++) {
        float* row = room.scores + r * PANEL;
        if (!plain) finish(call, at, r, first, row, room.scaled ? room.scaled + r * PANEL : nullptr, room.bias);
        if (seen[r] == ~0ull) continue;
        for (int c = 0; c < PANEL; c += LANES)
          store(row + c, spread(seen[r], c) ? load(row + c) : all(-__builtin_inff()));
      }
      use.take(packed, first, seen, tile, stop);
    }
    use.after(packed, first, seen);
  }
}

}  // namespace
