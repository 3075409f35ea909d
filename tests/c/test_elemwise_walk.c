/* How arrays are walked together; needs no device. */
#include "check.h"

#include "c/elemwise/elemwise_walk.h"

#define N_ARGS 3

static gpuelemwise_arg arguments[N_ARGS] = {
    {"c", GA_FLOAT, GE_WRITE}, {"a", GA_FLOAT, GE_READ}, {"b", GA_UBYTE, GE_READ}};
static GpuElemwise elemwise = {
    .n = N_ARGS, .n_out = 1, .n_arrays = N_ARGS, .args = arguments};

/* The walk over c = f(a, b) of `dims`, with strides in bytes. */
static ga_walk plan(unsigned int nd, const size_t *dims, const ssize_t *c,
                    const ssize_t *a, const ssize_t *b) {
  const ssize_t *strides[N_ARGS] = {c, a, b};
  GpuArray arrays[N_ARGS];
  void *args[N_ARGS];
  size_t n = 1;
  for (unsigned int k = 0; k < nd; k++)
    n *= dims[k];
  for (unsigned int i = 0; i < N_ARGS; i++) {
    arrays[i] =
        (GpuArray){.nd = nd, .typecode = arguments[i].typecode, .offset = 1 << 20};
    memcpy(arrays[i].dimensions, dims, nd * sizeof *dims);
    memcpy(arrays[i].strides, strides[i], nd * sizeof *c);
    args[i] = &arrays[i];
  }
  ga_walk w;
  ga__walk_plan(&w, &elemwise, args, nd, dims, n);
  return w;
}

#define DIMS(...)                                                                      \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }
#define STRIDES(...)                                                                   \
  (const ssize_t[]) {                                                                  \
    __VA_ARGS__                                                                        \
  }

static void test_one_block(void) {
  uint64_t single;
  ga_walk w = plan(3, DIMS(4, 5, 6), STRIDES(120, 24, 4), STRIDES(120, 24, 4),
                   STRIDES(30, 6, 1));
  CHECK(w.nd == 1 && w.dims[0] == 120 && ga__walk_is_flat(&single, &w) && single == 0);
  /* In another common order, and from the other end. */
  w = plan(2, DIMS(4, 5), STRIDES(4, 16), STRIDES(4, 16), STRIDES(1, 4));
  CHECK(w.nd == 1 && ga__walk_is_flat(&single, &w));
  w = plan(2, DIMS(4, 5), STRIDES(-20, -4), STRIDES(-20, -4), STRIDES(-5, -1));
  CHECK(w.nd == 1 && ga__walk_is_flat(&single, &w));
  CHECK(w.offset[0] == (1 << 20) - 76 && w.offset[2] == (1 << 20) - 19);
  /* One that does not turn with them. */
  w = plan(1, DIMS(5), STRIDES(-4), STRIDES(-4), STRIDES(1));
  CHECK(!ga__walk_is_flat(&single, &w));
  CHECK(w.strides[0][0] == 4 && w.strides[2][0] == -1 && w.offset[2] == (1 << 20) + 4);
  /* A single element. */
  w = plan(2, DIMS(4, 5), STRIDES(20, 4), STRIDES(0, 0), STRIDES(5, 1));
  CHECK(ga__walk_is_flat(&single, &w) && single == 2);
}

static void test_vectors(void) {
  ga_walk w = plan(2, DIMS(10, 64), STRIDES(256, 4), STRIDES(0, 4), STRIDES(64, 1));
  CHECK(w.nd == 2 && ga__walk_vectors(&w, 1, 4) == 7 && ga__walk_ones(&w) == 0);
  /* Rows that do not begin at whole vectors; one element a row. */
  w = plan(2, DIMS(10, 63), STRIDES(256, 4), STRIDES(252, 4), STRIDES(1, 0));
  CHECK(ga__walk_vectors(&w, 1, 4) == 1 && ga__walk_ones(&w) == 4);
  CHECK(ga__walk_vectors(&w, 1, 1) == 3);
}

static void test_turned(void) {
  uint64_t turned = 0;
  ga_walk w =
      plan(2, DIMS(300, 400), STRIDES(1600, 4), STRIDES(4, 1200), STRIDES(400, 1));
  CHECK(ga__walk_turns(&turned, &w) && turned == 2);
  CHECK(w.dims[0] == 300 && w.dims[1] == 400);
  /* Between other axes. */
  w = plan(3, DIMS(50, 60, 70), STRIDES(16800, 280, 4), STRIDES(4, 14000, 200),
           STRIDES(1, 50, 3000));
  CHECK(ga__walk_turns(&turned, &w) && turned == 6);
  CHECK(w.dims[0] == 60 && w.dims[1] == 50 && w.dims[2] == 70);
  CHECK(w.strides[1][1] == 4 && w.strides[0][1] == 16800);
  /* A column is not worth it, nor is what fits the caches. */
  w = plan(2, DIMS(300, 400), STRIDES(1600, 4), STRIDES(4, 0), STRIDES(400, 1));
  CHECK(!ga__walk_turns(&turned, &w));
  w = plan(2, DIMS(100, 100), STRIDES(400, 4), STRIDES(4, 400), STRIDES(100, 1));
  CHECK(!ga__walk_turns(&turned, &w));
  /* Three planes: the short axis is walked first. */
  w = plan(2, DIMS(3, 100000), STRIDES(400000, 4), STRIDES(4, 12), STRIDES(1, 3));
  CHECK(!ga__walk_turns(&turned, &w));
  CHECK(w.dims[1] == 3 && w.strides[1][1] == 4 && w.strides[0][1] == 400000);
  /* In pieces: one of each plane, then the next. */
  const size_t piece = 4 * GA_WALK_GAP;
  CHECK(ga__walk_is_narrow(&w, piece) && !ga__walk_is_narrow(&w, 100001));
  ga_walk part;
  ga__walk_part(&part, &w, 0, 0, 195 * piece);
  ga__walk_cut(&part, 4);
  CHECK(part.nd == 3 && part.gap == GA_WALK_GAP && part.n == 195 * piece * 3);
  CHECK(part.dims[0] == 195 && part.dims[1] == 3 && part.dims[2] == piece);
  CHECK(part.strides[0][0] == 4 * (ssize_t)piece && part.strides[0][1] == 400000);
  CHECK(part.strides[1][0] == 12 * (ssize_t)piece && part.strides[1][2] == 12);
}

static void test_large(void) {
  ga_walk w = plan(1, DIMS(3), STRIDES(4), STRIDES(4), STRIDES((ssize_t)1 << 30));
  CHECK(ga__walk_is_large(&w));
  w = plan(1, DIMS(3), STRIDES(4), STRIDES((ssize_t)1 << 30), STRIDES(1));
  CHECK(!ga__walk_is_large(&w)); /* elements count, not bytes */
  w = plan(1, DIMS((size_t)1 << 31), STRIDES(4), STRIDES(4), STRIDES(1));
  CHECK(ga__walk_is_large(&w));
}

int main(int argc, char **argv) {
  (void)argc;
  test_one_block();
  test_vectors();
  test_turned();
  test_large();
  return check_result(argv[0]);
}
