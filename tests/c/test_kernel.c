/* Kernels on the null backend: caches, batches, errors, arguments, grids. */
#include "watched_kernels.h"

static void test_names(void) {
  char a[GA_KERNEL_NAME], b[GA_KERNEL_NAME];
  ga__kernel_name(a, "add", "x + y");
  ga__kernel_name(b, "add", "x - y");
  CHECK(strcmp(a, b) != 0 && strncmp(a, "add_", 4) == 0);
  ga__kernel_name(a, "a_stem_that_is_much_longer_than_there_is_room_for_in_a_name",
                  "x");
  CHECK(strlen(a) == GA_KERNEL_NAME - 1);
}

static void test_memory_and_disk(void) {
  gpucontext *ctx = open_watched();
  gpukernel *k = get(ctx, "one;");
  CHECK(get(ctx, "one;") == k && get(ctx, "two;") != k);
  CHECK(compiles == 2 && gpukernel_context(k) == ctx);
  CHECK(cache_info(ctx).compiled == 2 && cache_info(ctx).memory_hits == 1);
  CHECK(cache_info(ctx).unwritable == 0);
  gpukernel_retain(k);
  gpukernel_release(k);
  gpucontext_deref(ctx);

  ctx = open_watched();
  get(ctx, "one;");
  get(ctx, "one;");
  CHECK(compiles == 0 && cache_info(ctx).disk_hits == 1);
  gpucontext_deref(ctx);

  ctx = open_watched(); /* another compiler makes other programs */
  strcpy(ctx->info.bin_id, "null 2");
  get(ctx, "one;");
  CHECK(compiles == 1 && cache_info(ctx).disk_hits == 0);
  gpucontext_deref(ctx);
}

/* Whether a program of two texts has a backend's functions, once, before the second. */
static bool has_functions(const char *first, const char *second, bool is_cpu) {
  static const char *const functions[] = {"/* sums */", "/* FUNCTIONS */", NULL};
  ga_backend backend = ga__null_backend;
  backend.math = functions;
  gpucontext ctx = {.backend = &backend, .info = {.is_cpu = is_cpu}};
  ga_key k = {0};
  ga__key_begin(&k, &ctx);
  ga__key_add(&k, first);
  CHECK(strstr(k.text.text, "FUNCTIONS") == NULL);
  ga__key_add(&k, second);
  const char *found = strstr(k.text.text, "/* sums *//* FUNCTIONS */");
  const bool once = found && found < strstr(k.text.text, second) &&
                    strstr(found + 10, "/* sums */") == NULL;
  CHECK(once || strstr(k.text.text, "FUNCTIONS") == NULL);
  ga__key_clear(&k);
  return once;
}

static void test_functions_of_a_backend(void) {
  CHECK(has_functions("y = x + 1", "y = tanh(x)", true));
  CHECK(has_functions("y = x + 1", "y = pow(x, 2)", true));
  CHECK(has_functions("y = x + 1", "ga_cfloat y = x", true)); /* whose functions call */
  CHECK(!has_functions("y = x + 1", "y = sqrt(x)", true));
  CHECK(!has_functions("y = x + 1", "y = tanh(x)", false));
}

static void test_batches(void) {
  gpucontext *ctx = open_watched();
  prepare(ctx, GA_NO_ERROR, 4, (const char *[]){"one;", "a;", "b;", "a;"});
  CHECK(compiles == 1 && cache_info(ctx).compiled == 2);
  CHECK(cache_info(ctx).disk_hits == 1);
  get(ctx, "a;");
  get(ctx, "b;");
  get(ctx, "one;");
  CHECK(compiles == 1 && cache_info(ctx).memory_hits == 3);
  prepare(ctx, GA_NO_ERROR, 2, (const char *[]){"a;", "c;"});
  CHECK(compiles == 2);
  prepare(ctx, GA_NO_ERROR, 0, NULL);
  gpucontext_deref(ctx);

  ctx = open_watched(); /* each kernel of a batch is found by its own source */
  get(ctx, "b;");
  prepare(ctx, GA_NO_ERROR, 3, (const char *[]){"c;", "a;", "b;"});
  CHECK(compiles == 0 && cache_info(ctx).disk_hits == 3);
  gpucontext_deref(ctx);
}

/* The programs of `n` bodies: what was compiled for them, one behind the other. */
static char compiled_texts[1 << 17];

static int noting_compile(void **program, void *device, const char *source,
                          ga_strbuf *log) {
  const size_t length = strlen(compiled_texts);
  snprintf(compiled_texts + length, sizeof compiled_texts - length, "%s|", source);
  return watched_compile(program, device, source, log);
}

/* Whether two bodies stand in one program. */
static bool are_together(const char *one, const char *other) {
  const char *first = strstr(compiled_texts, one);
  const char *second = strstr(compiled_texts, other);
  CHECK(first != NULL && second != NULL);
  if (first == NULL || second == NULL)
    return false;
  const char *low = first < second ? first : second;
  return strchr(low, '|') > (first < second ? second : first);
}

static void test_what_may_share_a_program(void) {
  gpucontext *ctx = open_watched();
  hooked.compile = noting_compile;
  compiled_texts[0] = '\0';
  prepare(ctx, GA_NO_ERROR, 8,
          (const char *[]){"OPEN 1;", "m1;", "OPEN 2;", GA_ROUNDED "\nm2;", "m3;",
                           "ga_cfloat m4;", "m5; ga_cfloat z;", GA_ROUNDED "\nm6;"});
  CHECK(compiles == 5 && cache_info(ctx).compiled == 8);
  CHECK(are_together("m1;", "m3;") && are_together("m2;", "m6;"));
  CHECK(are_together("m4;", "m5;") && !are_together("m1;", "m2;"));
  CHECK(!are_together("m1;", "m4;") && !are_together("OPEN 1;", "OPEN 2;"));
  CHECK(!are_together("OPEN 1;", "m1;") && !are_together("OPEN 2;", "m2;"));
  gpucontext_deref(ctx);

  ctx = open_watched();
  prepare(ctx, GA_NO_ERROR, 3, (const char *[]){"OPEN 1;", GA_ROUNDED "\nm6;", "m3;"});
  CHECK(compiles == 0 && cache_info(ctx).disk_hits == 3);
  gpucontext_deref(ctx);
}

static void test_texts_that_say_they_are_closed(void) {
  CHECK(ga__kernel_is_closed("GA_SELF_CONTAINED\nKERNEL void f() {}"));
  CHECK(ga__kernel_is_closed("GA_SELF_CONTAINED\n"));
  CHECK(!ga__kernel_is_closed("KERNEL void f() {}") && !ga__kernel_is_closed(NULL));
  CHECK(!ga__kernel_is_closed("\nGA_SELF_CONTAINED\n"));
  CHECK(!ga__kernel_is_closed("GA_SELF_CONTAINED_X\n") && !ga__kernel_is_closed(""));
}

static void test_damaged_files_are_compiled_anew(void) {
  char command[128];
  gpucontext *ctx = open_watched();
  snprintf(command, sizeof command, "for f in %s/*.kernel; do printf x >>$f; done",
           folder);
  CHECK(system(command) == 0);
  get(ctx, "one;");
  CHECK(compiles == 1 && cache_info(ctx).damaged == 1);
  gpucontext_deref(ctx);
  ctx = open_watched();
  get(ctx, "one;");
  CHECK(compiles == 0 && cache_info(ctx).damaged == 0);
  gpucontext_deref(ctx);
}

static int refusing_load(void **program, void *device, const void *bytes, size_t size) {
  (void)program, (void)device, (void)bytes, (void)size;
  return GA_FAIL(GA_COMPILE_ERROR, "not from this driver");
}

static void test_programs_that_the_vendor_refuses(void) {
  gpucontext *ctx = open_watched();
  hooked.load = refusing_load;
  get(ctx, "one;");
  CHECK(compiles == 1 && cache_info(ctx).damaged == 1);
  gpucontext_deref(ctx);
}

static void test_without_a_cache(void) {
  setenv("GPUARRAY_CACHE_DIR", "/proc/no/such", 1);
  gpucontext *ctx = open_watched();
  get(ctx, "one;");
  prepare(ctx, GA_NO_ERROR, 2, (const char *[]){"a;", "b;"});
  CHECK(compiles == 2 && cache_info(ctx).unwritable == 4);
  gpucontext_deref(ctx);
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  ctx = open_watched();
  get(ctx, "one;");
  CHECK(compiles == 1 && cache_info(ctx).unwritable == 0);
  gpucontext_deref(ctx);
  setenv("GPUARRAY_CACHE_DIR", folder, 1);
}

static void test_compile_errors(void) {
  gpucontext *ctx = open_watched();
  ga_source empty = {.name = "empty"};
  gpukernel *k = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, ga__kernel_get(&k, ctx, &empty));
  const char *text = "first\nWRONG\nthird";
  char *log = NULL;
  int status = GA_NO_ERROR;
  CHECK(gpukernel_init(ctx, 1, &text, NULL, "f", 0, NULL, 0, &status, &log) == NULL);
  CHECK(status == GA_IMPL_ERROR && log != NULL); /* as in 0.7 */
  CHECK(log && strcmp(log, "f does not compile for null (null (host memory, runs no "
                           "kernel)):\nline 2: what is WRONG?\n"
                           "   1  first\n   2  WRONG\n   3  third\n") == 0);
  CHECK(log && strcmp(log, gpuarray_error_text()) == 0);
  free(log);
  text = "KERNEL void g() {}";
  CHECK(gpukernel_init(ctx, 1, &text, NULL, "f", 0, NULL, 0, &status, NULL) == NULL);
  CHECK_TEXT("no kernel f");
  gpucontext_deref(ctx);
}

static void check_refused(gpucontext *ctx, int wanted, unsigned int count,
                          unsigned int n_types, int type, int flags) {
  const char *text[2] = {"void f", "() {}"};
  int status = GA_NO_ERROR, types[2] = {type, type};
  CHECK(gpukernel_init(ctx, count, text, NULL, "f", n_types, types, flags, &status,
                       NULL) == NULL);
  CHECK(status == wanted);
}

static void test_refused_kernels(void) {
  gpucontext *ctx = open_watched();
  check_refused(ctx, GA_VALUE_ERROR, 0, 0, 0, 0);
  check_refused(ctx, GA_INVALID_ERROR, 2, 2, 22, 0);
  check_refused(ctx, GA_INVALID_ERROR, 2, 2, GA_CQUAD, 0);
  check_refused(ctx, GA_DEVSUP_ERROR, 2, 0, 0, GA_USE_CUDA);
  check_refused(ctx, GA_DEVSUP_ERROR, 2, 0, 0, GA_USE_OPENCL);
  check_refused(NULL, GA_VALUE_ERROR, 2, 0, 0, 0);
  ctx->info.has_double = false;
  check_refused(ctx, GA_DEVSUP_ERROR, 2, 0, 0, GA_USE_DOUBLE);
  CHECK_TEXT("has no double precision");
  gpucontext_deref(ctx);
}

/* Two handles of one source have arguments of their own. */
static void test_arguments(void) {
  gpucontext *ctx = open_watched(), *other;
  CHECK_OK(gpucontext_open(&other, "null"));
  const char *text[2] = {"KERNEL void f", "(...) {}!"};
  size_t lengths[2] = {0, 8};
  int types[] = {GA_BUFFER, GA_FLOAT, GA_HALF, GA_SIZE};
  GpuKernel k, twin;
  CHECK_OK(GpuKernel_init(&k, ctx, 2, text, lengths, "f", 4, types, 0, NULL));
  CHECK_OK(GpuKernel_init(&twin, ctx, 2, text, lengths, "f", 4, types, 0, NULL));
  CHECK(k.k != twin.k && compiles == 1);
  gpudata *b = gpudata_alloc(ctx, 8, NULL, 0, NULL);
  gpudata *foreign = gpudata_alloc(other, 8, NULL, 0, NULL);
  float x = 1.5f, y = 2.5f;
  uint16_t half = 0x3c00;
  size_t n = 7, grid[1] = {2}, block[1] = {32};

  CHECK_STATUS(GA_VALUE_ERROR, GpuKernel_call(&k, 1, grid, block, 0, NULL));
  CHECK_TEXT("kernel f: argument 0 is not set");
  CHECK_OK(GpuKernel_setarg(&k, 0, b));
  CHECK_OK(GpuKernel_setarg(&k, 1, &x));
  CHECK_OK(GpuKernel_setarg(&k, 2, &half));
  CHECK_OK(gpukernel_setarg(k.k, 3, &n)); /* the handle's own */
  CHECK_OK(GpuKernel_setarg(&twin, 1, &y));
  CHECK_STATUS(GA_VALUE_ERROR, GpuKernel_setarg(&k, 4, &n));
  CHECK_STATUS(GA_VALUE_ERROR, GpuKernel_setarg(&k, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuKernel_setarg(&k, 0, foreign));
  CHECK_TEXT("a buffer of another context");
  CHECK(GpuKernel_error(&k, 0) == gpuarray_error_text());
  x = 9; /* the value was copied */
  CHECK_OK(GpuKernel_call(&k, 1, grid, block, 0, NULL));
  CHECK(launches == 1 && last_launch.n_args == 4 && last_launch.grid[0] == 2);
  CHECK(last_args[0].buffer == b && last_args[1].size == 4 && last_args[2].size == 2);
  float passed;
  memcpy(&passed, last_args[1].value.bytes, sizeof passed);
  CHECK(passed == 1.5f && last_args[3].value.u64 == 7);
  void *args[] = {b, &y, &half, &n};
  CHECK_OK(GpuKernel_call(&twin, 1, grid, block, 16, args));
  memcpy(&passed, last_args[1].value.bytes, sizeof passed);
  CHECK(passed == 2.5f && last_launch.shared == 16);

  const int *known;
  unsigned int n_args;
  CHECK_OK(gpukernel_property(k.k, GA_KERNEL_PROP_TYPES, &known));
  CHECK_OK(gpukernel_property(k.k, GA_KERNEL_PROP_NUMARGS, &n_args));
  CHECK(n_args == 4 && memcmp(known, types, sizeof types) == 0);
  CHECK_STATUS(GA_VALUE_ERROR, gpukernel_property(k.k, GA_BUFFER_PROP_SIZE, &n));
  CHECK_OK(gpukernel_property(k.k, GA_CTX_PROP_LMEMSIZE, &n));
  gpudata_release(b);
  gpudata_release(foreign);
  gpucontext_deref(other);
  gpucontext_deref(ctx); /* the kernels keep it */
  CHECK(GpuKernel_context(&twin) == ctx);
  GpuKernel_clear(&k);
  GpuKernel_clear(&k);
  GpuKernel_clear(&twin);
  CHECK_STATUS(GA_VALUE_ERROR, GpuKernel_call(&k, 1, grid, block, 0, NULL));
}

static void check_geometry(gpukernel *k, int wanted, unsigned int n, size_t g0,
                           size_t g1, size_t l0, size_t l1, size_t shared) {
  size_t grid[3] = {g0, g1, 1}, block[3] = {l0, l1, 1};
  CHECK_STATUS(wanted, gpukernel_call(k, n, grid, block, shared, NULL));
}

static void test_geometry(void) {
  gpucontext *ctx = open_watched();
  const char *text = "KERNEL void f() {}";
  gpukernel *k = gpukernel_init(ctx, 1, &text, NULL, "f", 0, NULL, 0, NULL, NULL);
  check_geometry(k, GA_NO_ERROR, 2, 2, 2, 32, 32, 227 << 10);
  CHECK(launches == 1);
  check_geometry(k, GA_NO_ERROR, 2, 2, 0, 32, 32, 0); /* nothing to do */
  CHECK(launches == 1);
  check_geometry(k, GA_VALUE_ERROR, 0, 1, 1, 1, 1, 0);
  check_geometry(k, GA_VALUE_ERROR, 4, 1, 1, 1, 1, 0);
  check_geometry(k, GA_LIMIT_ERROR, 1, 1, 1, 0, 1, 0);
  check_geometry(k, GA_LIMIT_ERROR, 1, 1, 1, 1025, 1, 0);
  check_geometry(k, GA_LIMIT_ERROR, 2, 1, 1, 64, 32, 0);
  CHECK_TEXT("a block of it has at most 1024 threads on null");
  check_geometry(k, GA_LIMIT_ERROR, 2, 1, 65536, 1, 1, 0);
  check_geometry(k, GA_LIMIT_ERROR, 1, 1, 1, 1, 1, (227 << 10) + 1);
  CHECK_STATUS(GA_VALUE_ERROR, gpukernel_call(k, 1, NULL, NULL, 0, NULL));

  GpuKernel user = {k, NULL};
  const size_t sizes[] = {0, 1, 31, 32, 255, 256, 257, 100000, (size_t)1 << 40};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t gs = 0, ls = 0;
    CHECK_OK(GpuKernel_sched(&user, sizes[i], &gs, &ls));
    CHECK(gs > 0 && ls > 0 && ls <= 1024 && gs <= INT32_MAX && gs * ls >= sizes[i]);
    gs = 0, ls = 48;
    CHECK_OK(GpuKernel_sched(&user, sizes[i], &gs, &ls));
    CHECK(ls == 48 && (gs * ls >= sizes[i] || gs == INT32_MAX));
    gs = 10, ls = 0;
    CHECK_OK(GpuKernel_sched(&user, sizes[i], &gs, &ls));
    CHECK(gs == 10 && ls > 0 && (gs * ls >= sizes[i] || ls == 1024));
  }
  gpukernel_release(k);
  gpucontext_deref(ctx);
}

static void test_too_many_arguments(void) {
  gpucontext *ctx = open_watched();
  gpukernel *k = get(ctx, "many;");
  static ga_args args;
  for (uint32_t i = 0; i <= GA_MAX_ARGS; i++)
    ga__args_u32(&args, i);
  ga_launch launch = {.nd = 1, .grid = {1}, .block = {1}, .n_args = args.n};
  launch.args = args.list;
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, ga__kernel_launch(k, &launch));
  launch.n_args = GA_MAX_ARGS;
  CHECK_OK(ga__kernel_launch(k, &launch));
  CHECK(last_args[255].value.u64 == 255 && last_args[255].size == 4);
  CHECK(ga__kernel_threads(k) == 1024);
  gpucontext_deref(ctx);
}

static void *get_kernels(void *context) {
  char body[16];
  for (int i = 0; i < 300; i++) {
    snprintf(body, sizeof body, "t%d;", i % 30);
    if (get(context, body) == NULL)
      return context;
  }
  return NULL;
}

static void test_threads(void) {
  gpucontext *ctx = open_watched();
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    CHECK(pthread_create(&threads[i], NULL, get_kernels, ctx) == 0);
  for (int i = 0; i < 4; i++) {
    void *failed;
    CHECK(pthread_join(threads[i], &failed) == 0 && failed == NULL);
  }
  CHECK(compiles == 30);
  gpucontext_deref(ctx);
}

/* Whether a folder has so many sources and nothing else. */
static bool has_sources(const char *path, unsigned int n) {
  char command[192];
  snprintf(command, sizeof command,
           "test $(ls %s | wc -l) = %u && test $(ls %s/*.cluda | wc -l) = %u", path, n,
           path, n);
  return system(command) == 0;
}

static void test_sources_for_a_reader(void) {
  char sources[64];
  const char *text = "KERNEL void mine() {}";
  snprintf(sources, sizeof sources, "%s/sources", folder);
  setenv("GPUARRAY_DUMP_KERNELS", sources, 1);
  gpucontext *ctx = open_watched();
  get(ctx, "one;");
  prepare(ctx, GA_NO_ERROR, 2, (const char *[]){"one;", "two;"});
  CHECK(has_sources(sources, 2)); /* also of what came from memory or disk */
  gpukernel *k = gpukernel_init(ctx, 1, &text, NULL, "mine", 0, NULL, 0, NULL, NULL);
  CHECK(k != NULL && has_sources(sources, 3));
  gpukernel_release(k);
  gpucontext_deref(ctx);

  setenv("GPUARRAY_DUMP_KERNELS", "/proc/no/such", 1);
  ctx = open_watched();
  ga_source source = make_source("one;");
  CHECK_STATUS(GA_SYS_ERROR, ga__kernel_get(&k, ctx, &source));
  CHECK_TEXT("GPUARRAY_DUMP_KERNELS: /proc/no/such/");
  ga__strbuf_clear(&source.body);
  gpucontext_deref(ctx);
  unsetenv("GPUARRAY_DUMP_KERNELS");
}

int main(void) {
  char command[64];
  CHECK(mkdtemp(folder) != NULL);
  setenv("GPUARRAY_CACHE_DIR", folder, 1);
  test_names();
  test_memory_and_disk();
  test_functions_of_a_backend();
  test_batches();
  test_what_may_share_a_program();
  test_texts_that_say_they_are_closed();
  test_damaged_files_are_compiled_anew();
  test_programs_that_the_vendor_refuses();
  test_without_a_cache();
  test_compile_errors();
  test_refused_kernels();
  test_arguments();
  test_geometry();
  test_too_many_arguments();
  test_threads();
  test_sources_for_a_reader();
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
  return check_result("kernel");
}
