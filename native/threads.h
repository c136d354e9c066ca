// Work that is shared out over threads of the call's own.
#pragma once
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

template <class Work>
inline void in_threads(int64_t count, Work work) {  // work(0) .. work(count - 1), the first in this thread
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
