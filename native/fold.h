// Pass 2: all that is made of final weights, of rows, of keys, of blocks, of distances and for certificates.
#pragma once
#include "normalise.h"
#include "probe.h"
#include "rows.h"

namespace {

constexpr int NEAR = 2 * PANEL;  // keys at each side of a row whose weights are kept apart for a while

struct Fold {
  const Call& call;
  const Where& at;
  Room& room;
  Sums& sums;
  int64_t out;  // of the first row, among the rows of the call
  RowSums rows[GROUP];
  Probing probing;
  float near[2 * NEAR];
  bool nearby;
  int64_t ahead, row_0;  // the head in hand, counted from the first of the group, and the row that its r = 0 would be

  void operator()(const float* packed, int64_t first, const uint64_t* seen) {
    ahead = 0;
    row_0 = at.row;
    for (int64_t r = 0; r < at.count;) {
      if (r >= (ahead + 1) * at.each) next_head();
      int64_t stop = (ahead + 1) * at.each;
      if (call.block) {  // a strip of rows lies in one row of blocks
        const int64_t past = (row_0 + r - call.block_start) % call.block;
        if (call.block - past < stop - r) stop = r + call.block - past;
      }
      strip(packed, first, seen, r, stop);
      r = stop;
    }
    if (at.each < at.count) flush_near();
    probing.after_panel();
  }

  void next_head() {
    flush_near();
    ahead++;
    row_0 -= at.each;
  }

  double* received() const { return sums.received + ahead * call.key_count; }
  double* by_distance() const { return sums.by_distance + ahead * call.bins; }

  void strip(const float* packed, int64_t first, const uint64_t* seen, int64_t begin, int64_t stop) {
    alignas(64) float weights[PANEL], logs[PANEL], key_sums[PANEL] = {}, key_most[PANEL] = {};
    const bool uniform = call.bins && one_bin(first, begin, stop);
    bool some = false;
    for (int64_t r = begin; r < stop; r++) {
      if (!seen[r]) continue;
      some = true;
      const float* scores = room.scores + r * PANEL;
      weigh(call, scores, call.peak[out + r], call.logsum[out + r], seen[r], weights, logs);
      if (call.want_rows == ENTROPY) {
        take_entropy(weights, logs, rows[r], key_sums, key_most);
      } else if (call.want_rows) {
        row(first, r, scores, weights, logs, key_sums, key_most, uniform);
      } else if (call.want_keys) {
        take_keys(weights, key_sums, key_most);
      }
      if (call.along_count) probing.take(packed, r, seen[r], scores, weights, logs);
    }
    if (some && call.want_keys) flush(first, begin, key_sums, key_most, uniform);
  }

  void row(int64_t first, int64_t r, const float* scores, const float* weights, const float* logs,
           float* key_sums, float* key_most, bool uniform) {
    const int64_t position = row_0 + r + call.offset, own = call.first_key[at.b] - first;
    Distances gone(position, first);
    uint64_t hits;
    const float mass = take_row(weights, logs, scores, gone, rows[r], hits, key_sums, key_most);
    if (hits && call.top) {
      float* top = room.top + LANES + r * room.top_step;
      keep_top(scores, hits, first, call.top, top, room.top_keys + LANES + r * room.top_step);
      rows[r].last = top[call.top - 1];
    }
    if (own >= 0 && own < PANEL) rows[r].first = weights[own];
    if (!uniform && call.bins) add_by_distance(position, first, mass, weights);
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

  void add_by_distance(int64_t position, int64_t first, float mass, const float* weights) {
    const int64_t last = (first + PANEL < call.tk ? first + PANEL : call.tk) - 1;
    const bool before = last <= position;
    const int64_t least = before ? position - last : first >= position ? first - position : 0;
    const int64_t most = before ? position - first : first >= position ? last - position : NEAR / 2;
    const int64_t bin = bin_of(least);
    if (least <= 64) {
      float* into = near + NEAR + (first - position);
      for (int c = 0; c < PANEL; c += LANES) store(into + c, load(into + c) + load(weights + c));
      nearby = true;
    } else if (bin == bin_of(most)) {
      by_distance()[bin] += mass;
    } else {  // a power of two lies within the panel: distances up to it stand in `bin`
      const int64_t edge = (int64_t)64 << (bin - 64);
      const int64_t from = before ? position - edge - first : 0;
      const int64_t stop = before ? last - first + 1 : position + edge - first + 1;
      float nearer = 0.0f, farther = 0.0f;
      for (int64_t c = 0; c <= last - first; c++) (c >= from && c < stop ? nearer : farther) += weights[c];
      by_distance()[bin] += nearer;
      by_distance()[bin + 1] += farther;
    }
  }

  void flush(int64_t first, int64_t begin, const float* key_sums, const float* key_most, bool uniform) {
    const int64_t count = first + PANEL < call.tk ? PANEL : call.tk - first;
    const int64_t from = call.key_first > first ? call.key_first - first : 0;
    const int64_t end = call.key_first + call.key_count - first < count
                            ? call.key_first + call.key_count - first : count;
    double* into = received() - call.key_first + first;
    for (int64_t c = from; c < end; c++) into[c] += key_sums[c];
    if (uniform) {
      V whole{};
      for (int c = 0; c < PANEL; c += LANES) whole += load(key_sums + c);
      const int64_t low = row_0 + begin + call.offset;
      by_distance()[bin_of(apart(low, first < low ? first + count - 1 : first))] += sum(whole);
    }
    if (call.block) blocks(first, begin, from, end, key_sums, key_most);
  }

  void blocks(int64_t first, int64_t begin, int64_t from, int64_t end, const float* key_sums,
              const float* key_most) {
    const int64_t line = (row_0 + begin - call.block_start) / call.block - call.block_top;
    const bool shared = line == sums.shared_row;
    const int64_t held = (ahead * call.block_rows + line) * call.block_cols;
    double* into = shared ? sums.shared_sum : sums.block_sum + held;
    double* most = shared ? sums.shared_max : sums.block_max + held;
    const bool whole = call.block % LANES == 0;  // then a vector lies in one block
    int64_t block = (first + from) / call.block, stop = (block + 1) * call.block - first;
    for (int64_t c = whole ? from / LANES * LANES : from; c < end;) {
      float added, largest_of;
      if (whole) {
        added = sum(load(key_sums + c));
        largest_of = largest(load(key_most + c));
        c += LANES;
      } else {
        added = key_sums[c];
        largest_of = key_most[c];
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

void fold(const Call& call, const Where& at, const Keys& keys, Room& room, Sums& sums, bool both) {
  const int64_t out = (at.b * call.h + at.h) * (call.stop - call.first) + at.row - call.first;
  Fold use{call, at, room, sums, out, {}, {call, at, room, out}, {}, false, 0, at.row};
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
      use(keys.packed ? panel.packed : room.panel, panel.first, panel.seen);
    }
    room.scores = scores;
  } else {
    walk(call, at, keys, room, use);
  }
  use.finish();
}

}  // namespace
