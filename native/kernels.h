// What is compiled once for each instruction set, and the memory that it works in.
#pragma once
#include "call.h"

// Where a thread adds what it finds of keys: to the call's own arrays, or to its own, to be merged afterwards.
struct Sums {
  double* received;     // of the head in hand
  double* by_distance;  // of the head in hand
  double* block_sum;    // of the head in hand, counted from the first row and column of blocks held
  double* block_max;
  int64_t shared_row;  // the row of blocks that another thread began, -1 for none; it goes to:
  double *shared_sum, *shared_max;
};

struct Kept;

// The memory of one thread: reserved once by its sizes, used by every group of rows.
struct Room {
  float* scores;  // rows of a group x PANEL
  float* scaled;  // the same before cap and bias, where these are asked for
  float* q;       // blocks of TILE rows: d x TILE each
  float* lanes;   // rows of a group x probe columns x widest vector
  double* probed; // rows of a group x probe columns
  float* top;     // a vector, then rows of a group x top_step
  int32_t* top_keys;
  int64_t top_step;  // whole vectors, and one between rows
  float* bias;    // PANEL
  int32_t* marks; // one for each panel, and one
  float* kept;    // of both passes at once: rows of a group x PANEL scores for each panel that it sees
  Kept* panels;
  float* mixed;   // rows of a group x values
  float* shown;   // the same, of those that are no finite numbers
  float* panel;   // one panel, where keys are packed as they come
};

// A panel that a group of rows sees, between the two passes.
struct Kept {
  const float* packed;
  int64_t first;
  uint64_t seen[TALL];
};

// The keys of one key head, packed: for each panel HEAD numbers, then d x PANEL, then along_count x PANEL, then
// its values, VALUES columns after VALUES columns. Where a panel is read once, its values stay where they lie.
constexpr int64_t HEAD = 16;
inline int64_t wide_of(const Call& call) { return (call.dv + VALUES - 1) / VALUES * VALUES; }
inline int64_t panel_size(const Call& call) { return HEAD + PANEL * (call.d + call.along_count + wide_of(call)); }

struct Keys {
  const float* packed;  // from panel `first` on; null where each panel is packed when it is looked at
  int64_t first;
};

// Rows that are looked at together: `each` rows of a head from `row` on, and where these are all the rows of the
// call, those of the heads after it that share its key head. `count` rows in all.
struct Where {
  int64_t b, h, row, count, each;

  int64_t head_of(int64_t r) const { return r < each ? h : h + r / each; }
  int64_t row_of(int64_t r) const { return row + (r < each ? r : r % each); }
};

enum Pass : int32_t { NORMALISE = 0, FOLD = 1, WEIGH = 2, BOTH = 3, OUTPUT = 4 };

struct Kernels {
  const char* name;
  int64_t lanes;
  void (*pack)(const Call&, int64_t b, int64_t hk, int64_t panel, int64_t stop, float* into);  // several, to keep
  void (*group)(const Call&, Pass, const Where&, const Keys&, Room&, Sums&);
};

extern "C" {
extern const Kernels attnscope_kernels_plain;
#if defined(__x86_64__)
extern const Kernels attnscope_kernels_avx2, attnscope_kernels_avx512;
#if defined(ATTNSCOPE_TESTED)
extern const Kernels attnscope_kernels_wide;  // the shape of AVX-512 on AVX2
#endif
#endif
}
