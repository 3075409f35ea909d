// libgpuarray from C++: data up, an expression, a sum, a product, kernels, an error.
//
//   cc -c ../c/scale.c $(pkg-config --cflags libgpuarray)
//   c++ -std=c++17 example.cpp scale.o $(pkg-config --cflags --libs libgpuarray) -o example
#include <cstdio>

#include "../c/scale.h"
#include "gpuarray.hpp"

namespace ga = gpuarray;

static const char *const square_source =
    "KERNEL void square(GLOBAL_MEM ga_float *a, ga_size offset, ga_size n) {\n"
    "  a = (GLOBAL_MEM ga_float *)((GLOBAL_MEM char *)a + offset);\n"
    "  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)\n"
    "    a[i] *= a[i];\n"
    "}\n";

// Prints, and whether the values are as expected.
static bool is(const char *what, const ga::Array &array, std::vector<float> expected) {
  const std::vector<float> values = array.read<float>();
  std::printf("%s:", what);
  for (const float value : values)
    std::printf(" %g", static_cast<double>(value));
  std::printf("\n");
  return values == expected;
}

static bool run(const ga::Context &context) {
  const std::vector<float> host{1, 2, 3, 4, 5, 6};
  const ga::Array x = ga::Array::from(context, host).reshape({2, 3});
  const ga::Elementwise line(context, "y", GA_FLOAT, "y = 2 * x + 1",
                             {{"x", GA_FLOAT}});
  const ga::Reduction sum(context, GA_FLOAT, "a + b", "0");
  bool good = is("2 x + 1", line({&x}), {3, 5, 7, 9, 11, 13});
  good &= is("its sum", sum(line({&x})), {48});
  good &= is("x x'", ga::matmul(x, x.transpose()), {14, 32, 32, 77});

  ga::Array mine = x.copy();
  ga::Kernel square(context, square_source, "square", {GA_BUFFER, GA_SIZE, GA_SIZE});
  std::size_t n = mine.size();
  square(n, {mine.get()->data, &mine.get()->offset, &n});
  good &= is("a kernel from C++", mine, {1, 4, 9, 16, 25, 36});
  // The same array, given to a kernel that a C file launches.
  ga::check(scale(mine.get(), 0.5f));
  good &= is("a kernel from C", mine, {0.5f, 2, 4.5f, 8, 12.5f, 18});

  try {
    x.reshape({5});
    good = false;
  } catch (const ga::Error &error) {
    std::printf("caught: %s\n", error.what());
  }
  return good;
}

int main(int argc, char **argv) {
  try {
    const ga::Context context(argc > 1 ? argv[1] : "");
    std::printf("on %s\n", context.name().c_str());
    return run(context) ? 0 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
