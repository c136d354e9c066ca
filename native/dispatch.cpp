// The library's face: plain C, so that Python opens it with ctypes whatever compiled it.
#include <cstdint>

#define ATTNSCOPE_PUBLIC extern "C" __attribute__((visibility("default")))

// Counts the changes of this interface: Python opens no library of another number.
ATTNSCOPE_PUBLIC int32_t attnscope_abi() { return 1; }
