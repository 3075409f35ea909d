/* Saved functions whose files are damaged behind the hash: each file is changed in a
 * few of its integers, numbers and elements, or has a text, a block or a run of fields
 * of another file in place of its own, gets the hash of what it is then, and is loaded
 * and called. It may be refused, with a text that says why, fail or give other numbers;
 * nothing reads or writes beyond its arrays, which AddressSanitizer watches on the host
 * and pages beside each buffer on devices that share its memory.
 *
 *   test_damaged_files                     functions of its own, 400 files
 *   test_damaged_files COUNT FIRST FOLDER  files of numbers FIRST to FIRST + COUNT, of
 *                                          functions that tests/family_files.py wrote
 *
 * A file is changed by its number alone, so that a failure can be repeated. The files
 * are tried in a process of their own, which is begun anew where one of them takes
 * longer than SECONDS. */
#define _GNU_SOURCE
#include "device_context.h"
#include "null_plan.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <gpuarray/function.h>
#include <gpuarray/kernel.h>

#include "c/array/array.h"
#include "damage.h"
#include "float_sum.h"
#include "guarded_memory.h"
#include "saved_calls.h"

#define SECONDS 60
#define MEMORY ((size_t)256 << 20)

extern char **environ;

/* ---- a function with steps of many kinds ---- */

/* The product of what it is given, and a fill and a copy: recorded commands. */
static int multiply(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                    const long long *ints) {
  (void)data, (void)ints;
  GpuArray a, b, c = {0};
  const size_t dims[2] = {ins[0]->dimensions[0], ins[1]->dimensions[1]};
  int status = GpuArray_view(&a, ins[0]);
  STEP(GpuArray_copy(&b, ins[1], GA_C_ORDER));
  STEP(GpuArray_zeros(&c, ins[0]->data->context, GA_FLOAT, 2, dims, GA_C_ORDER));
  STEP(GpuArray_rgemm(cb_no_trans, cb_no_trans, 1, &a, &b, 0, &c, 1));
  STEP(GpuArray_copy(outs[0], &c, GA_F_ORDER));
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&c);
  return status;
}

/* Of x (n, 6), an integer m and a kept (6, 6): moments of rows, products, views, and an
 * update. */
static GpuPlan *build(gpucontext *ctx, bool by_function) {
  static const gpuelemwise_arg y = {"y", GA_FLOAT, GE_WRITE};
  static const gpuelemwise_arg ins[3] = {
      {"x", GA_FLOAT, GE_READ}, {"v", GA_FLOAT, GE_READ}, {"n", GA_LONG, GE_SCALAR}};
  const int inplace[1] = {-1}, over[1] = {0}, row[2] = {-1, 0}, swap[2] = {1, 0};
  const int forms[2] = {GP_INDEX_SLICE + GP_INDEX_START + GP_INDEX_STEP,
                        GP_INDEX_SLICE};
  const unsigned int none[1] = {0}, stretch[3] = {0, 1, 0};
  const gpuplan_type type = {GA_FLOAT, 2};
  const float weights[6] = {1, 2, 3, 4, 5, 6};
  const size_t six = 6;
  const gpureduction_spec sum = float_sum(&ins[0]);
  unsigned int x, w, v, m, n, two, wide, mixed, sums, square, moved, flat, minus, back,
      product, parts[3];
  GpuArray constant = {0};
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "damaged"));
  CHECK_OK(GpuArray_copy_from_host(&constant, ctx, weights, GA_FLOAT, 1, &six, NULL));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_input(p, &w, GA_FLOAT, 2, 0));
  CHECK_OK(GpuPlan_int_input(p, &m));
  CHECK_OK(GpuPlan_constant(p, &v, &constant));
  GpuArray_clear(&constant);
  CHECK_OK(GpuPlan_dim(p, &n, x, 0));
  CHECK_OK(GpuPlan_int(p, &two, 2));
  CHECK_OK(GpuPlan_int(p, &minus, -1));
  CHECK_OK(GpuPlan_int_op(p, &n, GP_INT_MUL, n, m));
  CHECK_OK(GpuPlan_dimshuffle(p, &wide, "row", v, 2, row));
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = "mixed",
                           .preamble = "",
                           .expr = "y = x * v + n",
                           .n_out = 1,
                           .out_args = &y,
                           .inplace = inplace,
                           .n_in = 3,
                           .in_args = ins,
                           .ins = parts,
                           .stretch = stretch};
  parts[0] = x, parts[1] = wide, parts[2] = n;
  CHECK_OK(GpuPlan_elemwise(p, &mixed, &step));
  CHECK_OK(GpuPlan_reduce(p, &sums, "sum", &sum, &mixed, none, 1));
  CHECK_OK(
      GpuPlan_gemm(p, &square, "gemm", 1, x, cb_trans, mixed, cb_no_trans, 0, 0, 0));
  if (by_function)
    CHECK_OK(GpuPlan_function(p, &product, "multiply", multiply, NULL, 2,
                              (unsigned int[]){mixed, w}, 1, &type, NULL));
  else
    CHECK_OK(GpuPlan_gemm(p, &product, "gemm", 1, mixed, cb_no_trans, w, cb_no_trans, 0,
                          0, 0));
  CHECK_OK(GpuPlan_gemv(p, &moved, "gemv", 0.5, product, cb_no_trans, v, 0, 0, 0));
  CHECK_OK(GpuPlan_index(p, &back, "index", product, 2, forms,
                         (unsigned int[]){minus, minus}));
  CHECK_OK(GpuPlan_dimshuffle(p, &back, "swap", back, 2, swap));
  CHECK_OK(GpuPlan_reshape(p, &flat, "flat", back, 1, &minus));
  CHECK_OK(GpuPlan_copy(p, &back, "copy", back));
  step.label = "update", step.inplace = over;
  parts[0] = w, parts[2] = two;
  CHECK_OK(GpuPlan_elemwise(p, &w, &step));
  const unsigned int outputs[6] = {w, sums, square, moved, flat, back};
  for (int i = 0; i < 6; i++)
    CHECK_OK(GpuPlan_output(p, outputs[i]));
  return p;
}

/* ---- loading and calling ---- */

static int make_input(GpuArray *a, gpucontext *ctx, const gpufunction_item *item) {
  size_t dims[GA_MAX_NDIM];
  if (item->nd > 6)
    return GA_VALUE_ERROR;
  for (unsigned int i = 0; i < item->nd; i++)
    dims[i] = 6;
  return GpuArray_zeros(a, ctx, item->typecode, item->nd, dims, GA_C_ORDER);
}

/* Reads the results, as a caller does. */
static void read_and_clear(GpuArray *outs, unsigned int n) {
  for (unsigned int i = 0; i < n; i++) {
    const size_t size =
        ga__array_count(&outs[i]) * gpuarray_get_elsize(outs[i].typecode);
    char *bytes = size <= MEMORY ? malloc(size + 1) : NULL;
    if (bytes != NULL)
      (void)GpuArray_read(bytes, size, &outs[i]);
    free(bytes);
    GpuArray_clear(&outs[i]);
  }
}

/* The input that the call has at this place, of the file's type where it has none. */
static int give(GpuArray *a, const GpuArray **in, gpucontext *ctx, GpuFunction *f,
                unsigned int i, const saved_call *c, const double *elements) {
  gpufunction_item item;
  *in = a;
  if (c != NULL && i < c->n_in) {
    if (c->ins[i].typecode < 0)
      *in = NULL;
    return *in ? make_saved_input(a, ctx, &c->ins[i], elements) : GA_NO_ERROR;
  }
  CHECK_OK(GpuFunction_item(f, GF_INPUTS, i, &item));
  return make_input(a, ctx, &item);
}

/* Calls the function twice; whether it gave results. `c` may be NULL. */
static bool call(GpuFunction *f, gpucontext *ctx, const saved_call *c,
                 const double *elements) {
  unsigned int n_in = 0, n_int = 0, n_out = 0, made = 0;
  GpuArray arrays[MOST] = {0}, results[MOST] = {0}, *outs[MOST];
  const GpuArray *ins[MOST];
  long long ints[MOST];
  CHECK_OK(GpuFunction_count(f, GF_INPUTS, &n_in));
  CHECK_OK(GpuFunction_count(f, GF_INTS, &n_int));
  CHECK_OK(GpuFunction_count(f, GF_OUTPUTS, &n_out));
  if (n_in > MOST || n_int > MOST || n_out > MOST)
    return false;
  int status = GA_NO_ERROR;
  for (; status == GA_NO_ERROR && made < n_in; made++)
    status = give(&arrays[made], &ins[made], ctx, f, made, c, elements);
  for (unsigned int i = 0; i < n_int; i++)
    ints[i] = c != NULL && i < c->n_int ? c->ints[i] : 3;
  for (unsigned int i = 0; i < n_out; i++)
    outs[i] = &results[i];
  for (int i = 0; i < 2; i++) {
    STEP(GpuFunction_call(f, outs, ins, ints));
    if (status == GA_NO_ERROR)
      read_and_clear(results, n_out);
  }
  CHECK(status == GA_NO_ERROR || gpuarray_error_text()[0] != '\0');
  for (unsigned int i = 0; i < made; i++)
    GpuArray_clear(&arrays[i]);
  return status == GA_NO_ERROR;
}

/* What came of the files so far; the processes share it. */
typedef struct outcomes {
  size_t next; /* the number of the file that is tried */
  size_t loaded, called;
} outcomes;

/* The functions, and what is read from their files where they are first needed. */
typedef struct sources {
  saved_calls calls;
  bool is_own; /* one function, which is called with arrays of its types */
  source *list;
} sources;

static sources open_sources(const char *path, bool is_own) {
  sources s = {.is_own = is_own};
  if (is_own) {
    s.calls.list = calloc(1, sizeof *s.calls.list);
    s.calls.n = 1;
    snprintf(s.calls.list->path, sizeof s.calls.list->path, "%s", path);
  } else {
    s.calls = read_calls(path);
  }
  s.list = calloc(s.calls.n + 1, sizeof *s.list);
  return s;
}

static const source *get_source(sources *s, size_t i, gpucontext *ctx) {
  source *found = &s->list[i];
  GpuFunction *f = NULL;
  if (found->bytes != NULL)
    return found;
  list_fields(found);
  CHECK_OK(GpuFunction_load(&f, ctx, s->calls.list[i].path));
  list_fields(NULL);
  CHECK(f != NULL && found->words.n > 0 &&
        call(f, ctx, s->is_own ? NULL : &s->calls.list[i], s->calls.elements));
  GpuFunction_free(f);
  return found;
}

static void close_sources(sources *s) {
  for (size_t i = 0; i < s->calls.n; i++)
    clear_source(&s->list[i]);
  free(s->list);
  free(s->calls.list);
  free(s->calls.elements);
}

static void try_file(gpucontext *ctx, const char *path, outcomes *found,
                     const saved_call *c, const double *elements) {
  GpuFunction *f = NULL;
  if (GpuFunction_load(&f, ctx, path) == GA_NO_ERROR) {
    found->loaded++;
    found->called += call(f, ctx, c, elements);
    GpuFunction_free(f);
  } else {
    CHECK(gpuarray_error_text()[0] != '\0');
  }
  (void)gpucontext_sync(ctx); /* a wrong index is told of */
}

/* A context that has not failed; a new one now and then, as programs of damaged files
 * stay with the context. */
static gpucontext *renewed(gpucontext *ctx, size_t number) {
  if (ctx != NULL && number % 2000 != 0 && gpucontext_sync(ctx) == GA_NO_ERROR)
    return ctx;
  if (ctx != NULL)
    gpucontext_deref(ctx);
  ctx = open_device();
  CHECK_OK(gpucontext_set_limit(ctx, MEMORY));
  return ctx;
}

/* The process that tries files until `end`. */
static int work(const char *folder, bool is_own, int shared, size_t end) {
  char path[] = "/tmp/gpuarray-damaged-XXXXXX";
  outcomes *found =
      mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
  sources s = open_sources(folder, is_own);
  make_file(path);
  gpucontext *ctx = renewed(NULL, 1);
  while (found->next < end) {
    const size_t number = found->next, i = number % s.calls.n;
    const source *mine = get_source(&s, i, ctx);
    const source *donor = get_source(&s, number / s.calls.n % s.calls.n, ctx);
    size_t size;
    char *bytes = damaged(mine, donor, number, &size);
    int file = open(path, O_WRONLY | O_TRUNC);
    CHECK(write(file, bytes, size) == (ssize_t)size);
    close(file);
    free(bytes);
    alarm(SECONDS);
    try_file(ctx, path, found, is_own ? NULL : &s.calls.list[i], s.calls.elements);
    alarm(0);
    found->next = number + 1;
    if (found->next < end)
      ctx = renewed(ctx, found->next);
  }
  gpucontext_deref(ctx);
  unlink(path);
  close_sources(&s);
  return check_result("test_damaged_files: worker");
}

/* ---- guards ---- */

enum { SURVIVED = 0, UNGUARDED = 4 };

/* Reads behind a buffer, which the process does not survive where it is guarded. */
static int read_beyond(void) {
  const char *text = "KERNEL void beyond(GLOBAL_MEM ga_float *a, ga_size n) "
                     "{ a[0] = a[n]; }";
  const int types[2] = {GA_BUFFER, GA_SIZE};
  const size_t one = 1, n = 128; /* 512 bytes, which is what a buffer has at least */
  size_t behind = n;
  GpuKernel k = {0};
  GpuArray a = {0};
  gpucontext *ctx = open_device();
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuKernel_init(&k, ctx, 1, &text, NULL, "beyond", 2, types, 0, NULL));
  if (n_guarded == 0)
    return UNGUARDED;
  const int quiet = open("/dev/null", O_WRONLY);
  dup2(quiet, 2);
  CHECK_OK(GpuKernel_call(&k, 1, &one, &one, 0, (void *[]){a.data, &behind}));
  CHECK_OK(gpucontext_sync(ctx));
  return SURVIVED;
}

static void check_guards(void) {
  char *arguments[] = {"test_damaged_files", "--beyond", NULL};
  pid_t child;
  int status = 0;
  CHECK(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != SURVIVED);
  if (WIFEXITED(status) && WEXITSTATUS(status) == UNGUARDED)
    printf("memory is not shared: kernels are not watched\n");
}

/* ---- the program ---- */

/* Tries the files; false where a process died of one. */
static bool run_workers(const char *folder, bool is_own, size_t first, size_t end) {
  char descriptor[24], last[24];
  const int shared = memfd_create("outcomes", 0);
  CHECK(shared >= 0 && ftruncate(shared, sizeof(outcomes)) == 0);
  outcomes *found =
      mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
  size_t late = 0;
  bool lives = true;
  found->next = first;
  snprintf(descriptor, sizeof descriptor, "%d", shared);
  snprintf(last, sizeof last, "%zu", end);
  while (lives && found->next < end) {
    char *arguments[] = {"test_damaged_files",
                         is_own ? "--own" : "--work",
                         (char *)(uintptr_t)folder,
                         descriptor,
                         last,
                         NULL};
    pid_t child;
    int status = 0;
    CHECK(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
    CHECK(waitpid(child, &status, 0) == child);
    const bool is_late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    lives = is_late || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (is_late || !lives)
      fprintf(stderr, "file %zu: %s\n", found->next,
              is_late ? "took too long" : "the process died");
    late += is_late;
    found->next += is_late;
  }
  printf("%zu files: %zu loaded, %zu called, %zu took too long\n", found->next - first,
         found->loaded, found->called, late);
  return lives;
}

/* A function of the plan, bound for the inputs that the files are called with. */
static void save_own(const char *path, bool by_function) {
  gpucontext *ctx = open_device();
  GpuArray w = {0};
  const gpufunction_value value = {"w", &w, 1, 0, 0};
  const gpufunction_spec spec = {.size = sizeof spec,
                                 .n_values = 1,
                                 .values = &value,
                                 .note = "note",
                                 .note_size = 4};
  GpuFunction *f = NULL;
  GpuPlan *p = build(ctx, by_function);
  CHECK_OK(GpuArray_zeros(&w, ctx, GA_FLOAT, 2, (size_t[]){6, 6}, GA_C_ORDER));
  CHECK_OK(GpuFunction_new(&f, p, &spec));
  CHECK(call(f, ctx, NULL, NULL));
  CHECK_OK(GpuFunction_save(f, path));
  GpuFunction_free(f);
  GpuPlan_free(p);
  GpuArray_clear(&w);
  gpucontext_deref(ctx);
}

/* What was recorded is one program: where a kernel is given another buffer, or one
 * before it does not run, it may find places that are none. So all of it is refused. */
static void check_bindings_are_whole(const char *path) {
  char copy[] = "/tmp/gpuarray-damaged-XXXXXX";
  gpucontext *ctx = open_device();
  source s = {0};
  GpuFunction *f = NULL;
  list_fields(&s);
  CHECK_OK(GpuFunction_load(&f, ctx, path));
  list_fields(NULL);
  GpuFunction_free(f);
  CHECK(s.bindings.size > 1000);
  make_file(copy);
  for (size_t i = 0; i < s.words.n; i += 5) {
    const field *w = &s.words.list[i];
    if (w->at < s.bindings.at + 8 || w->at >= s.bindings.at + s.bindings.size)
      continue;
    s.bytes[w->at] ^= 1;
    set_head(s.bytes, s.size);
    int file = open(copy, O_WRONLY | O_TRUNC);
    CHECK(write(file, s.bytes, s.size) == (ssize_t)s.size);
    close(file);
    CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_load(&f, ctx, copy));
    s.bytes[w->at] ^= 1;
  }
  unlink(copy);
  clear_source(&s);
  gpucontext_deref(ctx);
}

int main(int argc, char **argv) {
  if (argc == 5 && strncmp(argv[1], "--", 2) == 0)
    return work(argv[2], strcmp(argv[1], "--own") == 0, atoi(argv[3]),
                strtoul(argv[4], NULL, 10));
  if (argc == 2 && strcmp(argv[1], "--beyond") == 0)
    return read_beyond();
  check_guards();
  const size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 400,
               first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
  if (argc > 3) {
    CHECK(run_workers(argv[3], false, first, first + count));
    return check_result("test_damaged_files");
  }
  for (int by_function = 0; by_function < 2; by_function++) {
    char path[] = "/tmp/gpuarray-whole-XXXXXX";
    make_file(path);
    save_own(path, by_function);
    if (by_function)
      check_bindings_are_whole(path);
    CHECK(run_workers(path, true, first, first + (count + 1) / 2));
    unlink(path);
  }
  return check_result("test_damaged_files");
}
