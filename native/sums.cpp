// Sums over rows, shared out over threads: heads where they are summed over, else rows.
#include <algorithm>
#include <cstring>

#include "sums.h"
#include "threads.h"

namespace {

constexpr int64_t SMALL = 1 << 17;  // numbers for which no thread is worth beginning

SumRows* named(const char* isa) {
#if defined(__x86_64__)
  if (!std::strcmp(isa, "avx512")) return attnscope_sums_avx512;
  if (!std::strcmp(isa, "avx2")) return attnscope_sums_avx2;
#if defined(ATTNSCOPE_TESTED)
  if (!std::strcmp(isa, "wide")) return attnscope_sums_wide;
#endif
#endif
  return attnscope_sums_plain;
}

}  // namespace

// `isa`: one that attnscope_isa has named.
extern "C" __attribute__((visibility("default"))) void attnscope_sums(const SumsCall* given, const char* isa) {
  const SumsCall& call = *given;
  SumRows* sum_rows = named(isa);
  const int64_t heads = call.b * call.h, step = call.places ? call.t : 1, units = call.t ? heads * call.t / step : 0;
  if (!units) return;
  const int64_t most = std::max<int64_t>(1, std::min(call.threads, heads * call.t * call.d / SMALL));
  const int64_t threads = std::min(most, units);
  in_threads(threads, [&](int64_t n) {
    for (int64_t at = units * n / threads * step, stop = units * (n + 1) / threads * step; at < stop;) {
      const int64_t row = at % call.t, last = std::min(call.t, row + stop - at);
      sum_rows(call, at / call.t, row, last);
      at += last - row;
    }
  });
}
