// What the files of kernels have in common that are compiled once per instruction set, with TW_ISA and TW_WIDTH set.
//
// Nothing here may call a C++ library template: an inline function compiled for AVX-512 and merged by the linker into
// baseline code would crash older processors. Hence raw pointers, and simd.hpp's unnamed namespace; of semiring.hpp
// only what is always inlined is used.
#pragma once

#include "simd.hpp"

#define TW_JOIN2(a, b) a##b
#define TW_JOIN(a, b) TW_JOIN2(a, b)
#define TW_COPY(table) TW_JOIN(table##_, TW_ISA)  // the table of this copy
