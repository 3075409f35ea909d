/* What elementwise expressions refuse: each failure has its status and a text, leaves
 * outputs and the object as they were, and leaks nothing. */
#include "null_context.h"

#include <gpuarray/elemwise.h>

#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }

static GpuArray empty(gpucontext *ctx, int typecode, unsigned int nd,
                      const size_t *dims) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_empty(&a, ctx, typecode, nd, dims, GA_C_ORDER));
  return a;
}

static int create(gpucontext *ctx, const char *expr, unsigned int n,
                  const gpuelemwise_arg *args, int flags) {
  GpuElemwise *untouched = (GpuElemwise *)&hooked, *ge = untouched;
  int status = GpuElemwise_create(&ge, ctx, NULL, expr, n, args, flags);
  CHECK(status != GA_NO_ERROR && ge == untouched);
  return status;
}

static void test_making(gpucontext *ctx) {
  gpuelemwise_arg args[65];
  for (int i = 0; i < 65; i++)
    args[i] = (gpuelemwise_arg){"a", GA_FLOAT, GE_WRITE};
  CHECK_STATUS(GA_VALUE_ERROR, create(NULL, "a = 1", 1, args, 0));
  CHECK_STATUS(GA_VALUE_ERROR, create(ctx, NULL, 1, args, 0));
  CHECK_STATUS(GA_VALUE_ERROR, create(ctx, "a = 1", 1, NULL, 0));
  CHECK_STATUS(GA_INVALID_ERROR, create(ctx, "a = 1", 0, args, 0));
  CHECK_STATUS(GA_INVALID_ERROR, create(ctx, "a = 1", 65, args, 0));
  CHECK_TEXT("65");
  CHECK_STATUS(GA_INVALID_ERROR, create(ctx, "a = 1", 2, args, 0)); /* twice "a" */
  CHECK_STATUS(GA_INVALID_ERROR, create(ctx, "a = 1", 1, args, GE_BROADCAST));
  CHECK_TEXT("0x100");
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuElemwise_create(NULL, ctx, NULL, "a = 1", 1, args, 0));
  args[0].name = "a b";
  CHECK_STATUS(GA_INVALID_ERROR, create(ctx, "a = 1", 1, args, 0));
  args[0].name = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, create(ctx, "a = 1", 1, args, 0));
  args[0] = (gpuelemwise_arg){"a", GA_SIZE, GE_WRITE};
  CHECK_STATUS(GA_VALUE_ERROR, create(ctx, "a = 1", 1, args, 0));
  args[0].typecode = 9999;
  CHECK_STATUS(GA_VALUE_ERROR, create(ctx, "a = 1", 1, args, 0));
  args[0] = (gpuelemwise_arg){"a", GA_FLOAT, GE_SCALAR | GE_WRITE};
  CHECK_STATUS(GA_INVALID_ERROR, create(ctx, "a = 1", 1, args, 0));
  args[0].flags = 0;
  CHECK_STATUS(GA_INVALID_ERROR, create(ctx, "a = 1", 1, args, 0));
  CHECK(GpuElemwise_new(ctx, NULL, "a = 1", 1, args, 0, 0) == NULL);
  GpuElemwise_free(NULL);
}

static void test_calls(gpucontext *ctx) {
  gpuelemwise_arg args[] = {
      {"c", GA_FLOAT, GE_WRITE}, {"a", GA_FLOAT, GE_READ}, {"s", GA_INT, GE_SCALAR}};
  GpuElemwise *ge = GpuElemwise_new(ctx, NULL, "c = a + s", 3, args, 0, 0);
  GpuArray a = empty(ctx, GA_FLOAT, 2, SHAPE(2, 3)),
           c = empty(ctx, GA_FLOAT, 2, SHAPE(2, 3));
  GpuArray ints = empty(ctx, GA_INT, 2, SHAPE(2, 3)), cleared = {0}, odd;
  int32_t one = 1;
  void *list[] = {&c, &a, &one};
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_call(NULL, list, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_call(ge, NULL, 0));
  list[2] = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_call(ge, list, 0));
  CHECK_TEXT("'s'");
  list[2] = &one;
  list[1] = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_call(ge, list, 0));
  list[1] = &cleared;
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_call(ge, list, 0));
  list[1] = &ints;
  CHECK_STATUS(GA_INVALID_ERROR, GpuElemwise_call(ge, list, 0));
  CHECK_TEXT("int32");
  odd = a;
  odd.nd = 33;
  list[1] = &odd;
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_call(ge, list, 0));
  CHECK_TEXT("33");
  odd = a;
  odd.offset = 2;
  odd.dimensions[0] = 1;
  GpuArray_fix_flags(&odd);
  CHECK_STATUS(GA_UNALIGNED_ERROR, GpuElemwise_call(ge, list, 0));
  list[1] = &a;
  c.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_call(ge, list, 0));
  c.flags |= GA_WRITEABLE;
  gpucontext *other;
  CHECK_OK(gpucontext_open(&other, "null"));
  GpuArray far = empty(other, GA_FLOAT, 2, SHAPE(2, 3));
  list[1] = &far;
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_call(ge, list, 0));
  CHECK_TEXT("GpuArray_transfer");
  list[1] = &a;
  CHECK_OK(GpuElemwise_call(ge, list, 0)); /* nothing of this stays */

  GpuArray untouched, made;
  memset(&made, 7, sizeof made);
  memset(&untouched, 7, sizeof untouched);
  GpuArray *outs[] = {&made};
  void *ins[] = {&far, &one};
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_apply(ge, outs, ins));
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_apply(ge, outs, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_apply(ge, NULL, ins));
  CHECK_STATUS(GA_INVALID_ERROR, GpuElemwise_apply1(ge, &made, &a));
  CHECK(memcmp(&made, &untouched, sizeof made) == 0);
  GpuElemwise_free(ge);
  gpuelemwise_arg reads[] = {{"a", GA_FLOAT, GE_READ}};
  ge = GpuElemwise_new(ctx, NULL, "a", 1, reads, 0, 0);
  void *only[] = {&a};
  CHECK_STATUS(GA_VALUE_ERROR, GpuElemwise_call(ge, only, 0));
  CHECK_TEXT("GE_WRITE");
  GpuElemwise_free(ge);
  GpuArray_clear(&far), GpuArray_clear(&a), GpuArray_clear(&c), GpuArray_clear(&ints);
  gpucontext_deref(other);
}

/* A whole life of an object, in every kind of layout. */
static int use_elemwise(gpucontext *ctx) {
  gpuelemwise_arg args[] = {{"c", GA_FLOAT, GE_WRITE}, {"a", GA_FLOAT, GE_READ}};
  GpuElemwise *ge = NULL;
  GpuArray a = {0}, turned = {0}, c = {0};
  const GpuArray *both[] = {&a, &a};
  int status = GpuElemwise_create(&ge, ctx, "", "c = a", 2, args, 0);
  if (status == GA_NO_ERROR)
    status = GpuArray_empty(&a, ctx, GA_FLOAT, 2, SHAPE(300, 300), GA_C_ORDER);
  if (status == GA_NO_ERROR)
    status = GpuElemwise_apply1(ge, &c, &a);
  if (status == GA_NO_ERROR) {
    GpuArray_transpose(&turned, &a, NULL);
    void *list[] = {&c, &turned};
    status = GpuElemwise_call(ge, list, 0);
  }
  if (status == GA_NO_ERROR) {
    void *list[] = {&a, &turned}; /* overlapping */
    status = GpuElemwise_call(ge, list, 0);
  }
  GpuArray_clear(&c);
  if (status == GA_NO_ERROR)
    status = GpuArray_concatenate(&c, both, 2, 1, GA_HALF);
  GpuArray_clear(&c), GpuArray_clear(&turned), GpuArray_clear(&a);
  GpuElemwise_free(ge);
  return status;
}

static void test_failing_allocations(gpucontext *ctx) {
  int status = GA_MEMORY_ERROR;
  for (long n = 0; n < 1000 && status != GA_NO_ERROR; n++) {
    ga__alloc_fail_at(n);
    status = use_elemwise(ctx);
    ga__alloc_fail_at(-1);
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
  }
  CHECK_OK(status);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_null();
  test_making(ctx);
  test_calls(ctx);
  test_failing_allocations(ctx);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
