/* Kernels that are compiled ahead, in batches and on threads. */
#include "c/program/kernel_waits.h"
#include "watched_kernels.h"

static void test_kernels_that_wait(void) {
  CHECK(ga__kernel_waits("KERNEL void f() { KERNEL_BEGIN; }"));
  CHECK(ga__kernel_waits("#define EL_KERNEL KERNEL_OF(32, 1)\nEL_KERNEL void f(A(b))\n"
                         "{\n  KERNEL_BEGIN;\n}"));
  CHECK(ga__kernel_waits("WITHIN_KERNEL int g() { return 1; }\n"
                         "KERNEL_SIZED(32, 1) void f() {KERNEL_BEGIN; g(); }"));
  CHECK(ga__kernel_waits("extern \"C\" __global__ void f() { KERNEL_BEGIN; }"));
  CHECK(!ga__kernel_waits("KERNEL void f() { g(); }") && !ga__kernel_waits(""));
  CHECK(!ga__kernel_waits("KERNEL void f() { g(); KERNEL_BEGIN; }"));
  CHECK(!ga__kernel_waits("KERNEL void f() { /* KERNEL_BEGIN */ g(); }"));
  CHECK(!ga__kernel_waits("KERNEL void f() { MY_KERNEL_BEGIN; KERNEL_BEGIN_NOT; }"));
  CHECK(!ga__kernel_waits("KERNEL void f() {{ KERNEL_BEGIN; }}"));
  CHECK(!ga__kernel_waits("KERNEL_BEGIN; KERNEL void f() {}"));
  /* Which of two kernels is asked for is not known. */
  CHECK(!ga__kernel_waits("KERNEL void f() { KERNEL_BEGIN; } KERNEL void g() {}"));
  CHECK(!ga__kernel_waits(
      "KERNEL void f() { KERNEL_BEGIN; } KERNEL_OF(1, 1) void g(){}"));
  /* What may be read before it. */
  CHECK(!ga__kernel_waits("KERNEL void f(int *GA_RESTRICT x) { KERNEL_BEGIN; }"));
  CHECK(!ga__kernel_waits("KERNEL void f(int *__restrict__ x) { KERNEL_BEGIN; }"));
  CHECK(!ga__kernel_waits("KERNEL void f(int *x) { KERNEL_BEGIN; __ldg(x); }"));
}

/* Two sources of one name are two kernels. */
static void test_sources_of_one_name(void) {
  gpucontext *ctx = open_watched();
  ga_source one = {.name = "same"}, other = {.name = "same"};
  ga__strbuf_add(&one.body, "KERNEL void same() { 1; }");
  ga__strbuf_add(&other.body, "KERNEL void same() { 2; }");
  const ga_source *list[] = {&one, &other, &one};
  CHECK_OK(ga__kernel_prepare(ctx, 3, list, true));
  CHECK(compiles == 2 && cache_info(ctx).compiled == 2);
  CHECK(ga__kernel_known(ctx, &one) != ga__kernel_known(ctx, &other));
  ga__strbuf_clear(&one.body);
  ga__strbuf_clear(&other.body);
  gpucontext_deref(ctx);
}

/* A compiler that waits until it is let go. */
static atomic_bool is_let_go;

static int slow_compile(void **program, void *device, const char *source,
                        ga_strbuf *log) {
  while (!is_let_go)
    usleep(100);
  return watched_compile(program, device, source, log);
}

static gpucontext *open_threaded(void) {
  gpucontext *ctx = open_watched();
  hooked.compiles_at_once = true;
  return ctx;
}

static void test_a_batch_is_shared_out_among_threads(void) {
  gpucontext *ctx = open_threaded();
  const long threads = 2 * sysconf(_SC_NPROCESSORS_ONLN); /* two a processor */
  const int groups = threads < 4 ? (int)threads : 4;
  prepare(ctx, GA_NO_ERROR, 6, (const char *[]){"p;", "q;", "r;", "s;", "t;", "u;"});
  CHECK(compiles == groups && cache_info(ctx).compiled == 6);
  get(ctx, "u;");
  CHECK(compiles == groups && cache_info(ctx).memory_hits == 1);
  prepare(ctx, GA_COMPILE_ERROR, 3, (const char *[]){"v;", "WRONG;", "w;"});
  CHECK_TEXT("WRONG");
  get(ctx, "v;"); /* what was right is kept */
  get(ctx, "w;");
  int before = compiles;
  get(ctx, "v;");
  CHECK(compiles == before);
  gpucontext_deref(ctx);

  ctx = open_watched();
  get(ctx, "t;");
  prepare(ctx, GA_NO_ERROR, 2, (const char *[]){"p;", "s;"});
  CHECK(compiles == 0 && cache_info(ctx).compiled == 0);
  gpucontext_deref(ctx);
}

/* The same without waiting. */
static void prepare_ahead(gpucontext *ctx, unsigned int n, const char *const *bodies) {
  ga_source sources[8] = {{.name = ""}};
  const ga_source *list[8] = {NULL};
  for (unsigned int i = 0; i < n; i++) {
    sources[i] = make_source(bodies[i]);
    list[i] = &sources[i];
  }
  CHECK_OK(ga__kernel_prepare(ctx, n, list, false));
  for (unsigned int i = 0; i < n; i++)
    ga__strbuf_clear(&sources[i].body);
}

static void test_compiling_ahead_does_not_wait(void) {
  gpucontext *ctx = open_threaded();
  hooked.compile = slow_compile;
  is_let_go = false;
  prepare_ahead(ctx, 2, (const char *[]){"x1;", "x2;"});
  CHECK(compiles == 0);
  prepare_ahead(ctx, 2, (const char *[]){"x1;", "x2;"}); /* both are on their way */
  is_let_go = true;
  get(ctx, "x1;");
  get(ctx, "x2;");
  const int before = compiles;
  CHECK(before <= 2);
  get(ctx, "x2;");
  CHECK(compiles == before);
  gpucontext_deref(ctx);

  ctx = open_threaded(); /* nobody asks for these */
  prepare_ahead(ctx, 3, (const char *[]){"y1;", "y2;", "y3;"});
  gpucontext_deref(ctx);
}

static void test_mistakes_that_are_compiled_ahead(void) {
  gpucontext *ctx = open_threaded();
  prepare_ahead(ctx, 3, (const char *[]){"z1;", "WRONG z;", "z2;"});
  get(ctx, "z1;");
  get(ctx, "z2;");
  for (int i = 0; i < 2; i++) {
    prepare(ctx, GA_COMPILE_ERROR, 1, (const char *[]){"WRONG z;"});
    CHECK_TEXT("line 2: what is WRONG?");
    CHECK_TEXT("WRONG z;");
  }
  gpucontext_deref(ctx);
}

/* A user's kernel of a text that is on its way, which shows only when it is asked. */
static void test_user_kernels_that_are_compiled_ahead(void) {
  static const char *const bodies[] = {"own;", "WRONG own;"};
  gpucontext *ctx = open_threaded();
  hooked.compile = slow_compile;
  is_let_go = false;
  prepare_ahead(ctx, 2, bodies);
  GpuKernel kernels[2];
  for (int i = 0; i < 2; i++) {
    ga_source source = make_source(bodies[i]);
    const char *text = source.body.text;
    CHECK_OK(GpuKernel_init(&kernels[i], ctx, 1, &text, NULL, source.name, 0, NULL, 0,
                            NULL));
    ga__strbuf_clear(&source.body);
  }
  is_let_go = true;
  size_t threads = 0;
  CHECK_OK(gpukernel_property(kernels[0].k, GA_KERNEL_PROP_MAXLSIZE, &threads));
  CHECK(threads == 1024);
  CHECK_OK(GpuKernel_call(&kernels[0], 1, (size_t[]){1}, (size_t[]){32}, 0, NULL));
  CHECK(launches == 1);
  CHECK_STATUS(GA_COMPILE_ERROR,
               GpuKernel_call(&kernels[1], 1, (size_t[]){1}, (size_t[]){1}, 0, NULL));
  CHECK_TEXT("what is WRONG?");
  for (int i = 0; i < 2; i++)
    GpuKernel_clear(&kernels[i]);
  gpucontext_deref(ctx);
}

static int two_parameters(unsigned int *out, void *device, void *kernel) {
  (void)device, (void)kernel;
  *out = 2;
  return GA_NO_ERROR;
}

/* How many parameters it has shows when it is compiled: it is not launched then. */
static void test_user_kernels_of_too_few_arguments(void) {
  gpucontext *ctx = open_threaded();
  hooked.compile = slow_compile;
  hooked.kernel_parameters = two_parameters;
  hooked.sure_threads = 256;
  is_let_go = false;
  prepare_ahead(ctx, 1, (const char *[]){"few;"});
  ga_source source = make_source("few;");
  const char *text = source.body.text;
  GpuKernel kernel;
  CHECK_OK(GpuKernel_init(&kernel, ctx, 1, &text, NULL, source.name, 0, NULL, 0, NULL));
  ga__strbuf_clear(&source.body);
  is_let_go = true;
  for (int i = 0; i < 2; i++) {
    CHECK_STATUS(GA_VALUE_ERROR,
                 GpuKernel_call(&kernel, 1, (size_t[]){1}, (size_t[]){1}, 0, NULL));
    CHECK_TEXT("the source has 2 parameters, but 0 arguments were");
  }
  CHECK(launches == 0);
  GpuKernel_clear(&kernel);
  gpucontext_deref(ctx);
}

static void test_the_culprit_of_a_batch_is_named(void) {
  gpucontext *ctx = open_watched();
  prepare(ctx, GA_COMPILE_ERROR, 3, (const char *[]){"p;", "WRONG;", "q;"});
  CHECK_TEXT("line 2: what is WRONG?");
  CHECK(strstr(gpuarray_error_text(), "p;") == NULL);
  get(ctx, "p;");
  get(ctx, "q;");
  gpucontext_deref(ctx);
}

int main(void) {
  char command[64];
  CHECK(mkdtemp(folder) != NULL);
  setenv("GPUARRAY_CACHE_DIR", folder, 1);
  test_kernels_that_wait();
  test_sources_of_one_name();
  test_a_batch_is_shared_out_among_threads();
  test_compiling_ahead_does_not_wait();
  test_mistakes_that_are_compiled_ahead();
  test_user_kernels_that_are_compiled_ahead();
  test_user_kernels_of_too_few_arguments();
  test_the_culprit_of_a_batch_is_named();
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
  return check_result("kernels ahead");
}
