/* Saved functions whose files are damaged behind the hash: each file is changed in a
 * few of its integers, numbers and elements, gets the hash of what it is then, and is
 * loaded and called. It may be refused, fail or give other numbers; nothing reads or
 * writes beyond its arrays, which AddressSanitizer and the runtime's own checks watch.
 *
 *   test_damaged_files                    a function of its own, 400 files
 *   test_damaged_files COUNT [FIRST]      files of numbers FIRST to FIRST + COUNT
 *   test_damaged_files COUNT FIRST FILE   of a function that another program saved
 *
 * A file is changed by its number alone, so that a failure can be repeated. The files
 * are tried in a process of their own, which is begun anew where one of them takes
 * longer than SECONDS; LENGTHS in the environment, such as "6,4", are the lengths of
 * axes of its inputs, from the last axis on.
 *
 * What is not changed is what runs as code: compiled programs, and texts. */
#define _GNU_SOURCE
#include "device_context.h"
#include "null_plan.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <gpuarray/function.h>

#include "c/array.h"
#include "c/hash.h"
#include "c/plan_file.h"
#include "float_sum.h"

#define SECONDS 20
#define HEAD 40 /* bytes: mark, format, length, hash */
#define MEMORY ((size_t)256 << 20)
#define MOST 64 /* inputs and outputs */

extern char **environ;

/* ---- where a file may be changed ---- */

/* A place that the reader took an integer or elements from. CMakeLists.txt has the
 * linker put these functions between the library and its reader. */
typedef struct field {
  size_t at, size;
} field;

static field *fields;
static size_t n_fields;
static const char *start; /* of the file that is read, while its fields are listed */
static bool in_code;

static void note(const ga_reader *r, size_t size) {
  if (start == NULL || in_code || size == 0 || size > r->left)
    return;
  fields = realloc(fields, (n_fields + 1) * sizeof *fields);
  fields[n_fields++] = (field){(size_t)(r->at - start), size};
}

const char *__real_ga__get(ga_reader *r, size_t size);
uint64_t __real_ga__get_int(ga_reader *r);
unsigned int __real_ga__get_uint(ga_reader *r, unsigned int most);
int __real_ga__get_place(ga_reader *r, unsigned int end);
double __real_ga__get_double(ga_reader *r);
ga_reader __real_ga__get_bytes(ga_reader *r);
int __real_ga__kernels_get(ga_saved_kernels *k, gpucontext *ctx, ga_reader *r);
int __real_ga__file_read(const char *what, char **bytes, size_t *size,
                         const char *path);
const char *__wrap_ga__get(ga_reader *r, size_t size);
uint64_t __wrap_ga__get_int(ga_reader *r);
unsigned int __wrap_ga__get_uint(ga_reader *r, unsigned int most);
int __wrap_ga__get_place(ga_reader *r, unsigned int end);
double __wrap_ga__get_double(ga_reader *r);
ga_reader __wrap_ga__get_bytes(ga_reader *r);
int __wrap_ga__kernels_get(ga_saved_kernels *k, gpucontext *ctx, ga_reader *r);
int __wrap_ga__file_read(const char *what, char **bytes, size_t *size,
                         const char *path);

const char *__wrap_ga__get(ga_reader *r, size_t size) {
  note(r, size);
  return __real_ga__get(r, size);
}
uint64_t __wrap_ga__get_int(ga_reader *r) {
  note(r, 8);
  return __real_ga__get_int(r);
}
unsigned int __wrap_ga__get_uint(ga_reader *r, unsigned int most) {
  note(r, 8);
  return __real_ga__get_uint(r, most);
}
int __wrap_ga__get_place(ga_reader *r, unsigned int end) {
  note(r, 8);
  return __real_ga__get_place(r, end);
}
double __wrap_ga__get_double(ga_reader *r) {
  note(r, 8);
  return __real_ga__get_double(r);
}
ga_reader __wrap_ga__get_bytes(ga_reader *r) {
  note(r, 8);
  return __real_ga__get_bytes(r);
}
int __wrap_ga__kernels_get(ga_saved_kernels *k, gpucontext *ctx, ga_reader *r) {
  in_code = true;
  int status = __real_ga__kernels_get(k, ctx, r);
  in_code = false;
  return status;
}
static bool lists; /* the next file that is read has its fields listed */
int __wrap_ga__file_read(const char *what, char **bytes, size_t *size,
                         const char *path) {
  int status = __real_ga__file_read(what, bytes, size, path);
  start = lists && status == GA_NO_ERROR ? *bytes : NULL;
  return status;
}

/* ---- changes ---- */

static uint64_t state;

static uint64_t draw(uint64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % n;
}

static uint64_t get_word(const char *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

/* Another integer: near what it is, small, of another field, or far. */
static uint64_t changed(uint64_t word, const char *bytes) {
  const field *other = &fields[draw(n_fields)];
  switch (draw(8)) {
  case 0:
    return word + 1;
  case 1:
    return word - 1;
  case 2:
    return draw(20);
  case 3:
    return word * 2 + draw(2);
  case 4:
    return word ^ (uint64_t)1 << draw(64);
  case 5:
    return UINT64_MAX - draw(300);
  case 6:
    return other->size == 8 ? get_word(bytes + other->at) : word / 2;
  default:
    return (uint64_t)1 << draw(64);
  }
}

static void damage(char *bytes, size_t number) {
  state = number;
  draw(2);
  for (uint64_t n = 1 + draw(3) / 2; n > 0; n--) {
    const field *f = &fields[draw(n_fields)];
    if (f->size == 8) {
      uint64_t word = changed(get_word(bytes + f->at), bytes);
      memcpy(bytes + f->at, &word, sizeof word);
    } else {
      bytes[f->at + draw(f->size)] = (char)draw(256);
    }
  }
}

/* The head says that the body is as it should be. */
static void set_head(char *bytes, size_t size) {
  const uint64_t length = size - HEAD;
  const ga_hash hash = ga__hash(bytes + HEAD, length, (ga_hash){0, 0});
  memcpy(bytes + 16, &length, 8);
  memcpy(bytes + 24, &hash.a, 8);
  memcpy(bytes + 32, &hash.b, 8);
}

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

static size_t length_of(unsigned int from_last) {
  const char *text = getenv("LENGTHS");
  for (; text != NULL && from_last > 0; from_last--)
    text = strchr(text, ',') ? strchr(text, ',') + 1 : NULL;
  return text ? strtoul(text, NULL, 10) : 6;
}

static int make_input(GpuArray *a, gpucontext *ctx, const gpufunction_item *item) {
  size_t dims[GA_MAX_NDIM];
  if (item->nd > 6)
    return GA_VALUE_ERROR;
  for (unsigned int i = 0; i < item->nd; i++)
    dims[i] = length_of(item->nd - 1 - i);
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

/* Calls the function as its lists say; whether it gave results. */
static bool call(GpuFunction *f, gpucontext *ctx) {
  unsigned int n_in = 0, n_int = 0, n_out = 0, made = 0;
  GpuArray arrays[MOST] = {0}, results[MOST] = {0}, *outs[MOST];
  const GpuArray *ins[MOST];
  long long ints[MOST];
  gpufunction_item item;
  CHECK_OK(GpuFunction_count(f, GF_INPUTS, &n_in));
  CHECK_OK(GpuFunction_count(f, GF_INTS, &n_int));
  CHECK_OK(GpuFunction_count(f, GF_OUTPUTS, &n_out));
  if (n_in > MOST || n_int > MOST || n_out > MOST)
    return false;
  int status = GA_NO_ERROR;
  for (; status == GA_NO_ERROR && made < n_in; made++) {
    CHECK_OK(GpuFunction_item(f, GF_INPUTS, made, &item));
    STEP(make_input(&arrays[made], ctx, &item));
    ins[made] = &arrays[made];
  }
  for (unsigned int i = 0; i < n_int; i++)
    ints[i] = 3;
  for (unsigned int i = 0; i < n_out; i++)
    outs[i] = &results[i];
  for (int i = 0; i < 2; i++) {
    STEP(GpuFunction_call(f, outs, ins, ints));
    if (status == GA_NO_ERROR)
      read_and_clear(results, n_out);
  }
  for (unsigned int i = 0; i < made; i++)
    GpuArray_clear(&arrays[i]);
  return status == GA_NO_ERROR;
}

/* What came of the files so far; the processes share it. */
typedef struct outcomes {
  size_t next; /* the number of the file that is tried */
  size_t loaded, called;
} outcomes;

static char *read_whole(const char *path, size_t *size) {
  char *bytes = NULL;
  CHECK_OK(__real_ga__file_read("test", &bytes, size, path));
  return bytes;
}

static void try_file(gpucontext *ctx, const char *path, outcomes *found) {
  GpuFunction *f = NULL;
  if (GpuFunction_load(&f, ctx, path) == GA_NO_ERROR) {
    found->loaded++;
    found->called += call(f, ctx);
    GpuFunction_free(f);
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
static int work(const char *source, int shared, size_t end) {
  char path[] = "/tmp/gpuarray-damaged-XXXXXX";
  outcomes *found =
      mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
  GpuFunction *f = NULL;
  size_t size;
  make_file(path);
  gpucontext *ctx = renewed(NULL, 1);
  lists = true;
  CHECK_OK(GpuFunction_load(&f, ctx, source));
  lists = false;
  start = NULL;
  CHECK(f != NULL && n_fields > 0 && call(f, ctx));
  GpuFunction_free(f);
  char *whole = read_whole(source, &size), *bytes = malloc(size);
  while (found->next < end) {
    const size_t number = found->next;
    memcpy(bytes, whole, size);
    damage(bytes, number);
    set_head(bytes, size);
    int file = open(path, O_WRONLY | O_TRUNC);
    CHECK(write(file, bytes, size) == (ssize_t)size);
    close(file);
    alarm(SECONDS);
    try_file(ctx, path, found);
    alarm(0);
    found->next = number + 1;
    if (found->next < end)
      ctx = renewed(ctx, found->next);
  }
  gpucontext_deref(ctx);
  unlink(path);
  free(bytes);
  ga__free(whole);
  free(fields);
  return check_result("test_damaged_files: worker");
}

/* ---- the program ---- */

/* Tries the files; false where a process died of one. */
static bool run_workers(const char *source, size_t first, size_t end) {
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
    char *arguments[] = {"test_damaged_files", "--work", (char *)(uintptr_t)source,
                         descriptor,           last,     NULL};
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
  CHECK(call(f, ctx));
  CHECK_OK(GpuFunction_save(f, path));
  GpuFunction_free(f);
  GpuPlan_free(p);
  GpuArray_clear(&w);
  gpucontext_deref(ctx);
}

int main(int argc, char **argv) {
  if (argc == 5 && strcmp(argv[1], "--work") == 0)
    return work(argv[2], atoi(argv[3]), strtoul(argv[4], NULL, 10));
  const size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 400,
               first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
  if (argc > 3) {
    CHECK(run_workers(argv[3], first, first + count));
    return check_result("test_damaged_files");
  }
  for (int by_function = 0; by_function < 2; by_function++) {
    char path[] = "/tmp/gpuarray-whole-XXXXXX";
    make_file(path);
    save_own(path, by_function);
    CHECK(run_workers(path, first, first + (count + 1) / 2));
    unlink(path);
  }
  return check_result("test_damaged_files");
}
