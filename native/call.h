// What one call of the engine is given and what it fills: plain C, mirrored in Python by core/native/call.py.
#pragma once
#include <cstdint>

constexpr int32_t ABI = 6;      // raised with every change of this file
constexpr int PANEL = 64;       // keys that are looked at together: as many as a word has bits
constexpr int TILE = 6;         // rows of a register block
constexpr int GROUP = 24;       // rows that are looked at together, whole register blocks
constexpr int TALL = 192;       // the same where no scores are kept, so that keys come from far away less often
constexpr int VALUES = 16;      // columns of values that are packed together

enum Kind : int32_t { FLOAT32 = 0, BFLOAT16 = 1, FLOAT16 = 2, FLOAT64 = 3 };

// Numbers with four axes; strides count numbers and are 0 where an axis broadcasts.
struct Array {
  const void* data;
  int64_t stride[4];
  int32_t kind;
  int32_t unused;
};

enum Rows : int32_t { NO_ROWS = 0, ALL_ROWS = 1, ENTROPY = 2 };  // ENTROPY: of rows, plogp alone

enum BiasKind : int32_t { NO_BIAS = 0, BY_DISTANCE = 1, BY_CELL = 2 };

// The dtype that each step is rounded to, FLOAT32 where it is not.
struct Rounding {
  int32_t inputs;    // of q and k, before they are multiplied
  int32_t products;  // of q.k
  int32_t scaled;    // of q.k before it is scaled, and of each step from there to the score
  int32_t fused;     // of the finished score, where its steps are not rounded
  int32_t softmax, weights;
  int32_t subtracted;    // of score - peak, where a model takes the row's maximum off first
  int32_t q_first;       // whether q is scaled before the product, and then rounded to these, in turn:
  int32_t q_scaled, q_again;
};

struct Call {
  // sizes; rows from `first` up to `stop`, and `offset` is the position of row 0 among the keys
  int64_t b, h, hk, tq, tk, d, offset, first, stop;
  Array q, k;
  // spans (b|1, h|1, tq, spans): the last axis is dense
  const int64_t* lo;
  const int64_t* hi;
  int64_t edge_stride[3];
  int64_t spans;
  const uint8_t* valid;  // (b, tk), dense, or null
  float scale;
  float softcap;  // 0 for none
  int32_t bias_kind;
  int32_t bias_inside;
  Array bias;  // by distance: (1, h|1, 1, n)
  int64_t bias_first, bias_size;
  Rounding rounding;
  int32_t threads;
  int32_t want_rows, want_keys, top;  // want_rows: a Rows; want_keys: those of keys, blocks and distances

  // pass 1 fills the normaliser, which pass 2 has from there where both are run at once. sinks (h) or null.
  // Where a model takes the row's maximum off first: start, a peak that each row begins with, and in place of
  // logsum_out and sinks the sum of exp(score - peak), total. (b h r) each
  const float* start;
  float* peak_out;
  double* total;
  const float* sinks;
  float* logsum_out;

  // pass 2: the normaliser of these rows, (b h r)
  const float* peak;
  const float* logsum;

  // of rows, (b h r); top (b h r top)
  double *mass, *plogp, *mean, *scatter, *at_first;
  float* top_scores;
  int64_t* top_keys;
  const int64_t* first_key;  // (b)

  // of keys `key_first` and on: received (b h key_count); by_distance (b h bins)
  double *received, *by_distance;
  int64_t key_first, key_count, bins;
  // blocks (b h block_rows block_cols), the first of which are block_top and block_left of all; 0 for none
  double *block_sum, *block_max;
  int64_t block, block_start, block_top, block_left, block_rows, block_cols;

  // of a certificate: along (b hk along_count tk), dense; lost (b hk tk) or null
  const float* along;
  const uint8_t* lost;
  int64_t along_count, signs;
  int32_t plain, added;
  double *probe_sums, *probe_tilts, *probe_squares;  // (b h r along_count), (.. 1 + signs), (.. 2 + signs)
  float* probe_largest;
  uint8_t* probe_lost;

  // the only keys that are looked at; weights (b h r col_stop - col_first), 0 where it is left as it was
  int64_t col_first, col_stop;
  float* weights;

  // the output: v (b hk tk dv), and float32 of these rows, (b h r dv), its last axis dense; the normaliser is
  // made with it, unless `peak` and `logsum` give it, as they must where weights are rounded
  Array v, out;
  int64_t dv;
};
