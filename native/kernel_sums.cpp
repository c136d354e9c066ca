// Sums over rows for one instruction set: compiled once for each, as kernel.cpp is, and by its rules.
#include "simd.h"
#include "sums.h"

namespace {

constexpr int HALF = LANES / 2;  // doubles of a vector
typedef double D __attribute__((vector_size(4 * LANES)));
typedef double DU __attribute__((vector_size(4 * LANES), aligned(8), may_alias));
typedef float FU __attribute__((vector_size(2 * LANES), aligned(4), may_alias));

inline D wide(const float* p) { return __builtin_convertvector(*reinterpret_cast<const FU*>(p), D); }
inline D wide(const double* p) { return *reinterpret_cast<const DU*>(p); }

// The sum of x * signs, and of its squares; null signs are ones.
inline void sum_row(const float* x, const double* signs, int64_t d, double& once, double& squares) {
  D sum{}, squared{};
  int64_t c = 0;
  for (; c + HALF <= d; c += HALF) {
    const D y = signs ? wide(x + c) * wide(signs + c) : wide(x + c);
    sum += y;
    squared += y * y;
  }
  once = squares = 0.0;
  for (int n = 0; n < HALF; n++) once += sum[n], squares += squared[n];
  for (; c < d; c++) {
    const double y = signs ? x[c] * signs[c] : x[c];
    once += y, squares += y * y;
  }
}

}  // namespace

#define NAMED(prefix, name) NAMED_AGAIN(prefix, name)
#define NAMED_AGAIN(prefix, name) prefix##name

extern "C" void NAMED(attnscope_sums_, ATTNSCOPE_ISA)(const SumsCall& call, int64_t head, int64_t from, int64_t stop) {
  const float* data = call.data + head / call.h * call.stride[0] + head % call.h * call.stride[1];
  const double* signs = call.signs ? call.signs + head % call.h * call.n * call.d : nullptr;
  for (int64_t row = from; row < stop; row++) {
    const float* x = data + row * call.stride[2];
    const int64_t at = head * call.t + row;
    double once, squares;
    for (int64_t n = call.on_signs ? call.n - 1 : 0; n >= 0; n--) {
      sum_row(x, signs ? signs + n * call.d : nullptr, call.d, once, squares);
      if (call.on_signs) call.on_signs[at * call.n + n] = once;
    }
    if (call.squares) call.squares[at] = squares;
    double* places = call.places ? call.places + head * call.d : nullptr;
    for (int64_t c = 0; places && c < call.d; c++) places[c] += (double)x[c] * x[c];
  }
}
