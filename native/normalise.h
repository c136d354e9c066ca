// Pass 1: the peak of each row and the sum of e^(score - peak), over all the keys that it sees.
#pragma once
#include "scores.h"

namespace {

// Raises a peak to the largest of a row's scores in a panel; returns what is relative to the old one times what
// is relative to the new.
inline double rise(const float* scores, float& peak) {
  V most = load(scores);
  for (int c = LANES; c < PANEL; c += LANES) most = larger(most, load(scores + c));
  if (!any_above(most, all(peak))) return 1.0;
  const float here = largest(most), old = peak;
  if (!(here > old)) return 1.0;
  peak = here;
  return old == -__builtin_inff() ? 0.0 : __builtin_exp((double)old - here);
}

// Adds the sums of each of `count` vectors, TILE at most.
inline void add_sums(const V (&parts)[TILE + 2], int64_t count, double* totals) {
  float sums[TILE + 2];
  sums_of(parts[0], parts[1], parts[2], parts[3], sums);
  sums_of(parts[4], parts[5], parts[6], parts[7], sums + 4);
  for (int64_t n = 0; n < count; n++) totals[n] += sums[n];
}

struct Normalise {
  const Call& call;
  Room& room;
  int64_t count;
  bool peaks_only, at_peak;  // the two halves where a model takes the row's maximum off first, rounded
  bool keeping;  // the scores, for pass 2
  float peak[TALL];
  double total[TALL];
  int64_t kept;

  void take(const float*, int64_t, const uint64_t* seen, int64_t begin, int64_t stop) {
    V sums[TILE + 2];
    clear(sums);
    for (int64_t r = begin; r < stop; r++)
      if (seen[r] && !at_peak) total[r] *= rise(room.scores + r * PANEL, peak[r]);
    for (int64_t r = begin; r < stop; r++)
      if (seen[r]) sums[r - begin] = row(r, room.scores + r * PANEL);
    add_sums(sums, stop - begin, total + begin);
  }

  void after(const float* packed, int64_t first, const uint64_t* seen) {
    if (!keeping) return;
    Kept& panel = room.panels[kept++];
    panel.packed = packed;
    panel.first = first;
    for (int64_t r = 0; r < count; r++) panel.seen[r] = seen[r];
    room.scores += count * PANEL;
  }

  V row(int64_t r, const float* scores) const {
    const V top = all(peak[r] == -__builtin_inff() ? 0.0f : peak[r]);
    V sums{};
    if (!peaks_only && !at_peak) {
#pragma GCC unroll 4
      for (int c = 0; c < PANEL; c += LANES) {
        V gone = load(scores + c) - top;
        sums += exponential(gone);
      }
      return sums;
    }
    for (int c = 0; c < PANEL; c += LANES) {
      V gone = load(scores + c) - top;
      if (at_peak) gone = rounded(gone, call.rounding.subtracted);
      sums += peaks_only ? gone - gone : exponential(gone);  // NaN where there is one
    }
    return sums;
  }
};

// The normaliser of a row from what its keys made, its learned sink included; returns the weight of a score that
// equals the peak of the keys.
double conclude(const Call& call, int64_t h, int64_t out, float peak, double total) {
  const float none = -__builtin_inff(), keys = peak;
  if (call.sinks) {
    const float sink = call.sinks[h], top = sink > peak ? sink : peak;
    total = peak == none ? total : total * __builtin_exp((double)peak - top);
    total += sink == none ? 0.0 : __builtin_exp((double)sink - top);
    peak = top;
  }
  if (total != total && peak < __builtin_inff()) peak = __builtin_nanf("");
  call.peak_out[out] = peak;
  call.logsum_out[out] = peak == none && total == total ? 0.0f : (float)__builtin_log(total);
  if (total == 0.0) return 0.0;
  return (keys == peak ? 1.0 : __builtin_exp((double)keys - peak)) / total;
}

void normalise(const Call& call, const Where& at, const Keys& keys, Room& room) {
  const int64_t out = (at.b * call.h + at.h) * (call.stop - call.first) + at.row - call.first;
  const bool twice = call.rounding.subtracted;
  Normalise use{call, room, at.count, twice, false, false, {}, {}, 0};
  for (int64_t r = 0; r < at.count; r++) use.peak[r] = call.start ? call.start[out + r] : -__builtin_inff();
  walk(call, at, keys, room, use);
  if (!twice) {
    for (int64_t r = 0; r < at.count; r++) conclude(call, at.head_of(r), out + r, use.peak[r], use.total[r]);
    return;
  }
  use.peaks_only = false;
  use.at_peak = true;
  for (int64_t r = 0; r < at.count; r++) use.total[r] = 0.0;
  walk(call, at, keys, room, use);
  for (int64_t r = 0; r < at.count; r++) {
    const bool lost = use.total[r] != use.total[r] && use.peak[r] < __builtin_inff();
    call.peak_out[out + r] = lost ? __builtin_nanf("") : use.peak[r];
    call.total[out + r] = use.total[r];
  }
}

// Pass 1 with all scores kept, and the normalisers themselves; returns how many panels.
int64_t normalise_and_keep(const Call& call, const Where& at, const Keys& keys, Room& room, int64_t out) {
  Normalise use{call, room, at.count, false, false, true, {}, {}, 0};
  for (int64_t r = 0; r < at.count; r++) use.peak[r] = -__builtin_inff();
  float* scores = room.scores;
  room.scores = room.kept;
  walk(call, at, keys, room, use);
  room.scores = scores;
  for (int64_t r = 0; r < at.count; r++) conclude(call, at.head_of(r), out + r, use.peak[r], use.total[r]);
  return use.kept;
}

}  // namespace
