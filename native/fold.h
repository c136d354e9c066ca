// Pass 2: all that is made of final weights, of rows, of keys, of blocks, of distances and for certificates.
#pragma once
#include "normalise.h"
#include "probe.h"

namespace {

constexpr int NEAR = 2 * PANEL;  // keys at each side of a row whose weights are kept apart for a while

template <bool EXACT>  // nothing is rounded on the way from scores to weights
struct Fold {
  const Call& call;
  const Where& at;
  Room& room;
  Sums& sums;
  int64_t out;  // of the first row, among the rows of the call
  RowSums rows[TALL];
  Probing probing;
  KeySums keys;
  float near[2 * NEAR];
  bool nearby, some;  // whether `near` and `keys` hold something
  bool uniform;       // whether all pairs of the strip in hand and a panel's keys stand in one bin of distances
  int64_t strip, strip_stop;  // the rows whose sums `keys` holds: they lie in one row of blocks
  int64_t ahead, row_0;  // the head in hand, counted from the first of the group, and the row that its r = 0 would be

  // Step by step for all rows, so that no row waits for the end of another.
  void take(const float* packed, int64_t first, const uint64_t* seen, int64_t begin, int64_t stop) {
    Weights weights[TILE];
    Parts parts[TILE];
    Distances gone[TILE];
    uint64_t hits[TILE];
    const bool simple = EXACT && AT_ONCE && probing.simple();
    for (int64_t r = begin; r < stop; r++) {
      if (!seen[r]) continue;
      if (r >= strip_stop) next_strip(first, r);
      const int64_t n = r - begin, position = row_0 + r + call.offset;
      gone[n].set(position, first);
      hits[n] = simple ? row<true>(packed, r, seen[r], gone[n], weights[n], parts[n])
                       : row<false>(packed, r, seen[r], gone[n], weights[n], parts[n]);
      some = true;
      if (!uniform && call.bins) add_by_distance(position, first, weights[n].of);
      if (!call.along_count) continue;
      probing.note(packed, r, seen[r], parts[n].most);
      if (!simple) {
        if (EXACT && call.plain) {
          probing.template take<true>(packed, r, scores_of(r), weights[n]);
        } else {
          probing.template take<false>(packed, r, scores_of(r), weights[n]);
        }
      }
    }
    if (call.want_rows == ALL_ROWS) {
      statistics(first, seen, begin, stop, weights, parts, gone, hits);
    } else if (call.want_rows) {
      for (int64_t r = begin; r < stop; r++)
        if (seen[r]) rows[r].plogp += sum(parts[r - begin].plogp);
    }
  }

  template <bool PROBED>
  uint64_t row(const float* packed, int64_t r, uint64_t seen, const Distances& gone, Weights& weights, Parts& parts) {
    const float *scores = scores_of(r), peak = call.peak[out + r], logsum = call.logsum[out + r];
    const Along along = PROBED ? probing.along_row(packed, r) : Along{};
    const V last = all(rows[r].last);
    if (EXACT && AT_ONCE && seen == ~0ull && (PROBED || !call.along_count)) {
      const V top = all(peak == -__builtin_inff() ? 0.0f : peak);
      return pass<false, PROBED>(scores, top, all(logsum), last, gone.from, along, keys, weights, parts);
    }
    weigh<EXACT>(call, scores, peak, logsum, seen, weights.of, weights.log);
    return pass<true, PROBED>(scores, V{}, V{}, last, gone.from, along, keys, weights, parts);
  }

  const float* scores_of(int64_t r) const { return room.scores + r * PANEL; }

  void after(const float*, int64_t first, const uint64_t*) {
    flush(first);
    if (ahead) flush_near();
    probing.after_panel();
    strip_stop = ahead = 0;
    row_0 = at.row;
  }

  // Begins the strip of rows that row r is in.
  void next_strip(int64_t first, int64_t r) {
    flush(first);
    while (r >= (ahead + 1) * at.each) next_head();
    const int64_t begin = call.block ? (row_0 + r - call.block_start) / call.block * call.block : r / GROUP * GROUP;
    strip = call.block ? begin + call.block_start - row_0 : begin;
    strip_stop = strip + (call.block ? call.block : GROUP);
    if (strip < ahead * at.each) strip = ahead * at.each;
    if (strip_stop > (ahead + 1) * at.each) strip_stop = (ahead + 1) * at.each;
    uniform = call.bins && one_bin(first, strip, strip_stop);
  }

  void next_head() {
    flush_near();
    ahead++;
    row_0 -= at.each;
  }

  double* received() const { return sums.received + ahead * call.key_count; }
  double* by_distance() const { return sums.by_distance + ahead * call.bins; }

  void statistics(int64_t first, const uint64_t* seen, int64_t begin, int64_t stop, const Weights* weights,
                  const Parts* parts, const Distances* gone, const uint64_t* hits) {
    float totals[TILE][4];
    const int64_t own = call.first_key[at.b] - first;
    for (int64_t r = begin; r < stop; r++) {
      if (!seen[r]) continue;
      const Parts& of = parts[r - begin];
      sums_of(of.mass, of.plogp, of.one, of.two, totals[r - begin]);
    }
    for (int64_t r = begin; r < stop; r++) {
      if (!seen[r]) continue;
      const int64_t n = r - begin;
      add_parts(weights[n], parts[n].most, totals[n], gone[n].from, gone[n].middle, rows[r]);
      if (own >= 0 && own < PANEL) rows[r].first = weights[n].of[own];
      if (!hits[n] || !call.top) continue;
      float* top = room.top + LANES + r * room.top_step;
      keep_top(scores_of(r), hits[n], first, call.top, top, room.top_keys + LANES + r * room.top_step);
      rows[r].last = top[call.top - 1];
    }
  }

  // Whether all pairs of these rows and a panel's keys stand in one bin of distances.
  bool one_bin(int64_t first, int64_t begin, int64_t stop) const {
    const int64_t low = row_0 + begin + call.offset, high = row_0 + stop - 1 + call.offset;
    const int64_t last = (first + PANEL < call.tk ? first + PANEL : call.tk) - 1;
    if (first <= high && last >= low) return false;
    const int64_t least = last < low ? low - last : first - high;
    const int64_t most = last < low ? high - first : last - low;
    return bin_of(least) == bin_of(most);
  }

  void add_by_distance(int64_t position, int64_t first, const float* weights) {
    const int64_t last = (first + PANEL < call.tk ? first + PANEL : call.tk) - 1;
    const bool before = last <= position;
    const int64_t least = before ? position - last : first >= position ? first - position : 0;
    if (least <= 64) {
      float* into = near + NEAR + (first - position);
      for (int c = 0; c < PANEL; c += LANES) store(into + c, load(into + c) + load(weights + c));
      nearby = true;
      return;
    }
    // a power of two may lie within the panel: distances up to it stand in `bin`
    const int64_t most = before ? position - first : last - position, bin = bin_of(least);
    const int64_t edge = (int64_t)64 << (bin - 64);
    const uint64_t close = before ? ~below(position - edge - first) : below(position + edge - first + 1);
    V nearer{}, farther{};
    for (int c = 0; c < PANEL; c += LANES) {
      const V w = load(weights + c);
      const I here = spread(close, c);
      nearer += here ? w : V{};
      farther += here ? V{} : w;
    }
    by_distance()[bin] += sum(nearer);
    if (most > edge) by_distance()[bin + 1] += sum(farther);
  }

  // Hands on what the strip gave to the keys of a panel.
  void flush(int64_t first) {
    if (!some) return;
    some = false;
    if (!call.want_keys) return;
    const int64_t count = first + PANEL < call.tk ? PANEL : call.tk - first;
    const int64_t from = call.key_first > first ? call.key_first - first : 0;
    const int64_t end = call.key_first + call.key_count - first < count
                            ? call.key_first + call.key_count - first : count;
    double* into = received() - call.key_first + first;
    for (int64_t c = from; c < end; c++) into[c] += keys.sums[c];
    if (uniform) {
      V whole{};
      for (int c = 0; c < PANEL; c += LANES) whole += load(keys.sums + c);
      const int64_t low = row_0 + strip + call.offset;
      by_distance()[bin_of(apart(low, first < low ? first + count - 1 : first))] += sum(whole);
    }
    if (call.block) blocks(first, from, end);
    keys.clear();
  }

  void blocks(int64_t first, int64_t from, int64_t end) {
    const int64_t line = (row_0 + strip - call.block_start) / call.block - call.block_top;
    const bool shared = line == sums.shared_row;
    const int64_t held = (ahead * call.block_rows + line) * call.block_cols;
    double* into = shared ? sums.shared_sum : sums.block_sum + held;
    double* most = shared ? sums.shared_max : sums.block_max + held;
    const bool whole = call.block % LANES == 0;  // then a vector lies in one block
    int64_t block = (first + from) / call.block, stop = (block + 1) * call.block - first;
    for (int64_t c = whole ? from / LANES * LANES : from; c < end;) {
      float added, largest_of;
      if (whole) {
        added = sum(load(keys.sums + c));
        largest_of = largest(load(keys.most + c));
        c += LANES;
      } else {
        added = keys.sums[c];
        largest_of = keys.most[c];
        c++;
      }
      const int64_t place = block - call.block_left;
      into[place] += added;
      if (largest_of > most[place]) most[place] = largest_of;
      if (added != added) most[place] = __builtin_nan("");
      if (c >= stop) block++, stop += call.block;
    }
  }

  void flush_near() {
    if (!nearby) return;
    nearby = false;
    for (int n = 0; n < 2 * NEAR; n++) {
      if (near[n] == 0.0f) continue;
      by_distance()[bin_of(apart(n, NEAR))] += near[n];
      near[n] = 0.0f;
    }
  }

  void finish() {
    probing.finish();
    if (call.want_keys) flush_near();
    if (!call.want_rows) return;
    for (int64_t r = 0; r < at.count; r++) {
      const RowSums& row = rows[r];
      if (call.want_rows == ENTROPY) {
        call.plogp[out + r] = row.plogp;
        continue;
      }
      const double mean = row.mass != 0.0 ? row.one / row.mass : 0.0, scatter = row.two - mean * row.one;
      call.mass[out + r] = row.mass;
      call.plogp[out + r] = row.plogp;
      call.at_first[out + r] = row.first;
      call.mean[out + r] = mean;
      call.scatter[out + r] = scatter < 0.0 ? 0.0 : scatter;
      for (int64_t n = 0; n < call.top; n++) {
        call.top_scores[(out + r) * call.top + n] = room.top[LANES + r * room.top_step + n];
        call.top_keys[(out + r) * call.top + n] = room.top_keys[LANES + r * room.top_step + n];
      }
    }
  }
};

// What stands beside the keys of a panel that was not kept.
void beside_again(const Call& call, const Where& at, int64_t first, float* panel) {
  const int64_t rest = call.tk - first;
  pack_beside(call, at.b, at.h / (call.h / call.hk), first, rest < PANEL ? rest : PANEL, panel);
}

template <bool EXACT>
void fold(const Call& call, const Where& at, const Keys& keys, Room& room, Sums& sums, bool both) {
  const int64_t out = (at.b * call.h + at.h) * (call.stop - call.first) + at.row - call.first;
  Fold<EXACT> use{call, at, room, sums, out, {}, {call, at, room, out}, {}, {}, false, false, false, 0, 0, 0, at.row};
  use.probing.begin();
  for (int64_t r = 0; r < at.count; r++) use.rows[r].last = call.top ? -__builtin_inff() : __builtin_inff();
  for (int64_t n = 0; call.top && n < LANES + at.count * room.top_step; n++) {
    room.top[n] = -__builtin_inff();
    room.top_keys[n] = -1;
  }
  if (both) {
    const int64_t count = normalise_and_keep(call, at, keys, room, out);
    float* scores = room.scores;
    for (int64_t n = 0; n < count; n++) {
      const Kept& panel = room.panels[n];
      room.scores = room.kept + n * at.count * PANEL;
      if (!keys.packed) beside_again(call, at, panel.first, room.panel);
      const float* packed = keys.packed ? panel.packed : room.panel;
      for (int64_t tile = 0; tile < at.count; tile += TILE)
        use.take(packed, panel.first, panel.seen, tile, tile + TILE < at.count ? tile + TILE : at.count);
      use.after(packed, panel.first, panel.seen);
    }
    room.scores = scores;
  } else {
    walk(call, at, keys, room, use);
  }
  use.finish();
}

}  // namespace
