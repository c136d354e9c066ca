// Sums over the rows of a tensor, in double: plain C, mirrored in Python by core/native/sums.py.
#pragma once
#include <cstdint>

struct SumsCall {
  const float* data;  // (b h t d); strides of the first three axes, the last is dense
  int64_t stride[3], b, h, t, d, n, threads;
  const double* signs;  // (h n d), or null
  double* on_signs;     // (b h t n): the products with `signs`, or null
  double* squares;      // (b h t): of the row times the first of them, or of the row itself; or null
  double* places;       // (b h d): squares summed over rows, beginning at 0; or null
};

// Rows `from` up to `stop` of one head of b * h.
using SumRows = void(const SumsCall&, int64_t head, int64_t from, int64_t stop);

extern "C" {
SumRows attnscope_sums_plain;
#if defined(__x86_64__)
SumRows attnscope_sums_avx2, attnscope_sums_avx512;
#if defined(ATTNSCOPE_TESTED)
SumRows attnscope_sums_wide;
#endif
#endif
}
