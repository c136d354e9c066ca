// The face of the engine: which instruction set runs, how rows are shared out over threads, and how what the
// threads found of keys is put together, in the order of the threads.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "kernels.h"
#include "threads.h"

#define SHOWN extern "C" __attribute__((visibility("default")))

namespace {

constexpr int64_t PACKED = 1 << 26;     // numbers of packed keys held at a time, where one head has no more
constexpr int64_t LITTLE = 1 << 22;     // numbers of packed keys whose memory a thread holds on to
constexpr int64_t SMALL = 1 << 16;      // cells for which no thread is worth beginning
constexpr int64_t FEW = 3;              // groups of rows for which keys are packed as they come, and not kept

const Kernels* named(const char* name) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool best = !name || !*name;
  if (avx512 && (best || !std::strcmp(name, "avx512"))) return &attnscope_kernels_avx512;
  if (avx2 && (best || !std::strcmp(name, "avx2"))) return &attnscope_kernels_avx2;
#if defined(ATTNSCOPE_TESTED)
  if (avx2 && !best && !std::strcmp(name, "wide")) return &attnscope_kernels_wide;
#endif
  if (!best && std::strcmp(name, "plain")) return nullptr;
#else
  if (name && *name && std::strcmp(name, "plain")) return nullptr;
#endif
  return &attnscope_kernels_plain;
}

template <class T>
struct Held {  // numbers on a cache line of their own
  T* data = nullptr;
  explicit Held(int64_t size) {
    const size_t bytes = (std::max<int64_t>(size, 1) * sizeof(T) + 63) / 64 * 64;
    data = static_cast<T*>(std::aligned_alloc(64, bytes));
    if (!data) throw std::bad_alloc();
  }
  Held(const Held&) = delete;
  ~Held() { std::free(data); }
};

struct Memory {  // what one thread works in
  Held<float> scores, scaled, q, lanes, top, bias, kept, mixed, shown, panel;
  Held<double> probed, received, by_distance, shared_sum, shared_max;
  Held<int32_t> top_keys, marks;
  Held<Kept> kept_panels;
  Room room;

  static int64_t probe_columns(const Call& call) {
    return call.along_count ? call.along_count + 3 + 2 * call.signs : 0;
  }

  static int64_t top_step(const Call& call, int64_t lanes_of) {
    return call.top ? ((call.top + lanes_of - 1) / lanes_of + 1) * lanes_of : 0;
  }

  // tall: rows of a group; keeping: panels whose scores are kept between two passes
  Memory(const Call& call, int64_t lanes_of, int64_t tall, int64_t keeping)
      : scores(tall * PANEL),
        scaled(tall * PANEL),
        q(tall * call.d),
        lanes(tall * probe_columns(call) * lanes_of),
        top(lanes_of + tall * top_step(call, lanes_of)),
        bias(PANEL),
        kept(keeping * tall * PANEL),
        mixed(tall * wide_of(call)),
        shown(tall * wide_of(call)),
        panel(panel_size(call)),
        probed(tall * probe_columns(call)),
        received(call.want_keys ? call.key_count : 0),
        by_distance(call.bins),
        shared_sum(call.block ? call.block_cols : 0),
        shared_max(call.block ? call.block_cols : 0),
        top_keys(lanes_of + tall * top_step(call, lanes_of)),
        marks(call.tk / PANEL + 3),
        kept_panels(keeping) {
    room = {scores.data, call.along_count && !call.plain ? scaled.data : nullptr, q.data, lanes.data,
            probed.data, top.data, top_keys.data, top_step(call, lanes_of), bias.data, marks.data,
            kept.data, kept_panels.data, mixed.data, shown.data, panel.data};
    std::fill_n(received.data, call.want_keys ? call.key_count : 0, 0.0);
    std::fill_n(by_distance.data, call.bins, 0.0);
    std::fill_n(shared_sum.data, call.block ? call.block_cols : 0, 0.0);
    std::fill_n(shared_max.data, call.block ? call.block_cols : 0, 0.0);
  }
};

// Some heads of a call, which share packed keys: groups of rows are counted through all of them.
struct Run {
  const Call& call;
  Pass pass;
  const Kernels& kernels;
  int64_t heads_from, heads_stop;  // of b * h
  int64_t panel, panels;           // the first panel that is seen, and how many
  int64_t tall, per_head;          // rows of a group, and groups of a head
  int64_t together;                // heads of one key head whose groups, one each, are looked at together
  float* packed;

  int64_t groups() const { return (heads_stop - heads_from) * per_head; }

  Where where(int64_t group) const {
    const int64_t head = heads_from + group / per_head, row = call.first + group % per_head * tall;
    const int64_t count = std::min<int64_t>(tall, call.stop - row);
    return {head / call.h, head % call.h, row, count, count};
  }

  // How many groups from this one on, before `stop`, are looked at together.
  int64_t beside(int64_t group, int64_t stop) const {
    int64_t count = 1;
    while (count < together && group + count < stop &&
           key_head(heads_from + group + count) == key_head(heads_from + group))
      count++;
    return count;
  }

  Keys keys_of(const Where& at) const {
    if (!packed) return {nullptr, panel};
    const int64_t own = key_head(at.b * call.h + at.h) - key_head(heads_from);
    return {packed + own * panels * panel_size(call), panel};
  }

  int64_t key_head(int64_t head) const {  // of b * hk
    return head / call.h * call.hk + head % call.h / (call.h / call.hk);
  }

  double cost(int64_t group) const {
    const Where at = where(group);
    double cells = tall;
    for (int64_t r = 0; r < at.count; r++) {
      const int64_t edge = at.b * call.edge_stride[0] + at.h * call.edge_stride[1] +
                           (at.row + r) * call.edge_stride[2];
      for (int64_t s = 0; s < call.spans; s++)
        cells += std::max<int64_t>(0, std::min(call.hi[edge + s], call.col_stop) -
                                          std::max(call.lo[edge + s], call.col_first));
    }
    return cells;
  }
};

// The sums of one thread: it adds to the call's own arrays, save for the head and the row of blocks that
// another thread began.
struct Share {
  int64_t from, stop;  // groups
  std::unique_ptr<Memory> memory;
  int64_t head = -1, line = -1;  // what is kept apart: a head of b * h, and a row of its blocks

  void walk(const Run& run) {
    const Call& call = run.call;
    const int64_t grid = call.block_rows * call.block_cols;
    for (int64_t group = from, count; group < stop; group += count) {
      Where at = run.where(group);
      count = run.beside(group, stop);
      at.count *= count;
      const int64_t own = at.b * call.h + at.h;
      const bool apart = own == head;
      Sums sums{apart ? memory->received.data : call.received + own * call.key_count,
                apart ? memory->by_distance.data : call.by_distance + own * call.bins,
                call.block_sum + own * grid, call.block_max + own * grid, apart ? line : -1,
                memory->shared_sum.data, memory->shared_max.data};
      run.kernels.group(call, run.pass, at, run.keys_of(at), memory->room, sums);
    }
  }

  void begin(const Run& run) {
    if (from >= stop || !run.call.want_keys || (run.pass != FOLD && run.pass != BOTH) || from % run.per_head == 0) return;
    const Where at = run.where(from);
    head = at.b * run.call.h + at.h;
    const int64_t past = at.row - run.call.block_start;
    if (run.call.block && past % run.call.block) line = past / run.call.block - run.call.block_top;
  }

  void merge(const Call& call) const {
    if (head < 0) return;
    for (int64_t c = 0; c < call.key_count; c++) call.received[head * call.key_count + c] += memory->received.data[c];
    for (int64_t n = 0; n < call.bins; n++) call.by_distance[head * call.bins + n] += memory->by_distance.data[n];
    if (line < 0) return;
    const int64_t at = (head * call.block_rows + line) * call.block_cols;
    for (int64_t n = 0; n < call.block_cols; n++) {
      call.block_sum[at + n] += memory->shared_sum.data[n];
      const double most = memory->shared_max.data[n];
      if (most > call.block_max[at + n] || most != most) call.block_max[at + n] = most;
    }
  }
};

void run_heads(const Run& run) {
  const Call& call = run.call;
  std::vector<double> costs(run.groups());
  double whole = 0.0;
  for (int64_t group = 0; group < run.groups(); group++) whole += costs[group] = run.cost(group);
  const int64_t threads = whole < SMALL ? 1 : std::max<int64_t>(1, std::min<int64_t>(call.threads, run.groups()));
  std::vector<Share> shares(threads);
  int64_t group = 0;
  double done = 0.0;
  for (int64_t n = 0; n < threads; n++) {
    shares[n].from = group;
    while (group < run.groups() && (n == threads - 1 || done < whole * (n + 1) / threads)) done += costs[group++];
    shares[n].stop = group;
    shares[n].memory = std::make_unique<Memory>(call, run.kernels.lanes, run.tall, run.pass == BOTH ? run.panels : 0);
    shares[n].begin(run);
  }
  const int64_t first = run.key_head(run.heads_from), last = run.key_head(run.heads_stop - 1);
  const int64_t all = (last - first + 1) * run.panels, size = panel_size(call);
  if (run.packed) in_threads(threads, [&](int64_t n) {
    for (int64_t at = all * n / threads, stop = all * (n + 1) / threads; at < stop;) {
      const int64_t head = first + at / run.panels, panel = at % run.panels;
      const int64_t count = std::min(run.panels - panel, stop - at);
      run.kernels.pack(call, head / call.hk, head % call.hk, run.panel + panel, run.panel + panel + count,
                       run.packed + at * size);
      at += count;
    }
  });
  in_threads(threads, [&](int64_t n) { shares[n].walk(run); });
  for (const Share& share : shares) share.merge(call);
}

void run_call(const Call& call, Pass pass, const Kernels& kernels) {
  const int64_t rows = call.stop - call.first, heads = call.b * call.h;
  if (rows <= 0 || heads <= 0) return;
  int64_t least = call.tk, most = 0;
  const int64_t across[2] = {call.edge_stride[0] ? call.b : 1, call.edge_stride[1] ? call.h : 1};
  for (int64_t b = 0; b < across[0]; b++)
    for (int64_t h = 0; h < across[1]; h++)
      for (int64_t r = call.first; r < call.stop; r++)
        for (int64_t s = 0; s < call.spans; s++) {
          const int64_t at = b * call.edge_stride[0] + h * call.edge_stride[1] + r * call.edge_stride[2] + s;
          const int64_t lo = std::max(call.lo[at], call.col_first), hi = std::min(call.hi[at], call.col_stop);
          if (hi <= lo) continue;
          least = std::min(least, lo);
          most = std::max(most, hi);
        }
  const int64_t panel = least / PANEL, panels = most > least ? (most - 1) / PANEL + 1 - panel : 0;
  const int64_t group = call.h / call.hk, size = std::max<int64_t>(1, panels * panel_size(call));
  const int64_t key_heads = std::max<int64_t>(1, std::min(PACKED / size, call.b * call.hk));
  const int64_t most_rows = pass == BOTH ? GROUP : TALL;  // of a group
  const bool beside = rows <= most_rows / 2 && group > 1;
  const int64_t tall = beside || rows * heads >= 4 * TALL * call.threads ? most_rows : GROUP;
  const int64_t per_head = (rows + tall - 1) / tall, together = beside ? std::min(group, tall / rows) : 1;
  const bool few = (group + together - 1) / together * per_head <= FEW;
  const bool little = !few && size * key_heads <= LITTLE;
  thread_local std::unique_ptr<Held<float>> held;  // getting new memory costs a short call more than filling it
  if (little && !held) held = std::make_unique<Held<float>>(LITTLE);
  const Held<float> own(little || few ? 0 : size * key_heads);
  float* packed = few ? nullptr : little ? held->data : own.data;
  for (int64_t from = 0; from < heads; from += key_heads * group)
    run_heads({call, pass, kernels, from, std::min(from + key_heads * group, heads), panel, panels,
               tall, per_head, together, packed});
}

}  // namespace

// Lets work be done by the threads of an OpenMP that is loaded, by its GOMP_parallel; null: by threads of our own.
SHOWN void attnscope_pool(Parallel* parallel) {
  pool.parallel = parallel;
  pool.process = parallel ? getpid() : 0;
}

// The number of the layout of Call: Python holds its own against it.
SHOWN int32_t attnscope_abi() { return ABI; }
SHOWN int64_t attnscope_call_size() { return sizeof(Call); }

// The instruction set that runs, `name` or the best of this machine; null where it has not that one.
SHOWN const char* attnscope_isa(const char* name) {
  const Kernels* found = named(name);
  return found ? found->name : nullptr;
}

// Runs a pass with an instruction set; 0, or 1 where there was not enough memory, 2 where there is no such set.
SHOWN int32_t attnscope_run(const Call* call, int32_t pass, const char* isa) {
  const Kernels* kernels = named(isa);
  if (!kernels) return 2;
  try {
    run_call(*call, static_cast<Pass>(pass), *kernels);
  } catch (const std::exception&) {
    return 1;
  }
  return 0;
}
