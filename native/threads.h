// Work that is shared out over threads: those of the caller's OpenMP where it names them, else threads of our own.
// Torch's stay awake for a while after each of its functions, and threads beside them would have to share its cores.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>
#if !defined(_WIN32)
#include <unistd.h>
#endif

// GOMP_parallel: fn(data) in so many threads, the first of them this one; set by attnscope_pool.
typedef void Parallel(void (*work)(void*), void* data, unsigned threads, unsigned flags);
struct Pool {
  std::atomic<Parallel*> parallel{nullptr};
  std::atomic<int64_t> process{0};  // a fork has no threads of its parent's

  Parallel* here() const { return process.load() == getpid() ? parallel.load() : nullptr; }
};
inline Pool pool;

template <class Work>
struct Shared {  // whichever thread comes takes the next part: how many come is the pool's affair
  Work& work;
  int64_t count;
  std::atomic<int64_t> next{0};

  static void run(void* data) {
    Shared& shared = *static_cast<Shared*>(data);
    for (int64_t n; (n = shared.next++) < shared.count;) shared.work(n);
  }
};

template <class Work>
inline void in_threads(int64_t count, Work work) {  // work(0) .. work(count - 1)
  if (Parallel* parallel = count > 1 ? pool.here() : nullptr) {
    Shared<Work> shared{work, count};
    return parallel(Shared<Work>::run, &shared, static_cast<unsigned>(count), 0);
  }
  std::vector<std::thread> others;
  int64_t begun = 1;
  for (; begun < count; begun++) {
    try {
      others.emplace_back(work, begun);
    } catch (const std::exception&) {
      break;  // the system has no thread to give: this one does the rest
    }
  }
  work(0);
  for (int64_t n = begun; n < count; n++) work(n);
  for (std::thread& other : others) other.join();
}
