// The engine for one instruction set: this file is compiled once for each, ATTNSCOPE_ISA naming it.
// Nothing here or in what it includes may come from the C++ library: its inline functions would be compiled
// for this instruction set, and the linker could take them for all.
#include "fold.h"
#include "output.h"

namespace {

struct Weigh {
  const Call& call;
  const Where& at;
  Room& room;
  int64_t out;

  void take(const float*, int64_t first, const uint64_t* seen, int64_t begin, int64_t end) {
    alignas(64) float weights[PANEL];
    const int64_t from = call.col_first > first ? call.col_first - first : 0;
    const int64_t stop = call.col_stop - first < PANEL ? call.col_stop - first : PANEL;
    for (int64_t r = begin; r < end; r++) {
      if (!seen[r]) continue;
      const float* scores = room.scores + r * PANEL;
      weigh(call, scores, call.peak[out + r], call.logsum[out + r], seen[r], weights);
      float* into = call.weights + (out + r) * (call.col_stop - call.col_first) + first - call.col_first;
      for (int64_t c = from; c < stop; c++) into[c] = weights[c];
    }
  }

  void after(const float*, int64_t, const uint64_t*) {}
};

void group(const Call& call, Pass pass, const Where& at, const Keys& keys, Room& room, Sums& sums) {
  if (pass == NORMALISE) return normalise(call, at, keys, room);
  if (pass == OUTPUT) return output(call, at, keys, room);
  if (pass != WEIGH) {
    const bool exact = is_exact(call.rounding), both = pass == BOTH;
    return exact ? fold<true>(call, at, keys, room, sums, both) : fold<false>(call, at, keys, room, sums, both);
  }
  Weigh use{call, at, room, (at.b * call.h + at.h) * (call.stop - call.first) + at.row - call.first};
  walk(call, at, keys, room, use);
}

}  // namespace

#define NAMED(prefix, name) NAMED_AGAIN(prefix, name)
#define NAMED_AGAIN(prefix, name) prefix##name
#define TEXT(name) TEXT_AGAIN(name)
#define TEXT_AGAIN(name) #name

extern "C" const Kernels NAMED(attnscope_kernels_, ATTNSCOPE_ISA) = {TEXT(ATTNSCOPE_ISA), LANES, pack, group};
