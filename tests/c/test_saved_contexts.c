/* Functions of several contexts in files: names, contexts for them, and damage. */
#include "null_plan.h"

#include <gpuarray/function.h>

#include "c/saving/plan_file.h"

#define HEAD 40 /* bytes: mark, format, length, hash */

static char path[] = "/tmp/gpuarray-contexts-XXXXXX";
static gpucontext *a, *b;

static GpuArray floats(gpucontext *ctx, size_t n, float first) {
  GpuArray made = {0};
  float values[8];
  for (size_t i = 0; i < n; i++)
    values[i] = first + (float)i;
  CHECK_OK(GpuArray_copy_from_host(&made, ctx, values, GA_FLOAT, 1, &n, NULL));
  return made;
}

static bool has(const GpuArray *array, gpucontext *ctx, size_t n, float first) {
  float values[8] = {-1};
  CHECK_OK(GpuArray_read(values, n * sizeof *values, array));
  return GpuArray_context(array) == ctx && array->dimensions[0] == n &&
         values[0] == first && values[n - 1] == first + (float)(n - 1);
}

/* Of x on the first context and w, kept on the other one: w becomes x, and the results
 * are the former w, on the first context, and a constant of the other. */
static int build(GpuFunction **f, GpuPlan **plan, gpucontext *own, gpucontext *other) {
  unsigned int there, x, w, c, first, moved, former;
  GpuPlan *p = NULL;
  GpuArray start = {0}, constant = {0};
  const float values[2] = {3, 4};
  const size_t two = 2;
  int status = GpuPlan_new(&p, own, "spread");
  STEP(GpuArray_copy_from_host(&start, other, values, GA_FLOAT, 1, &two, NULL));
  STEP(GpuArray_copy_from_host(&constant, other, values, GA_FLOAT, 1, &two, NULL));
  STEP(GpuPlan_add_context(p, &there, other));
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_on(p, there));
  STEP(GpuPlan_input(p, &w, GA_FLOAT, 1, 0));
  STEP(GpuPlan_constant(p, &c, &constant));
  STEP(GpuPlan_on(p, 0));
  STEP(GpuPlan_copy(p, &first, "copy", x));
  STEP(GpuPlan_on(p, there));
  STEP(GpuPlan_transfer(p, &moved, "move", first));
  STEP(GpuPlan_on(p, 0));
  STEP(GpuPlan_transfer(p, &former, "return", w));
  STEP(GpuPlan_output(p, moved));
  STEP(GpuPlan_output(p, former));
  STEP(GpuPlan_output(p, c));
  const char *const names[] = {"x", NULL}, *const outputs[] = {NULL, "w", "c"};
  const gpufunction_value value = {"w", &start, 1, 0, 0};
  const gpufunction_spec spec = {sizeof spec, names,  NULL,   outputs,
                                 1,           &value, "note", 4};
  STEP(GpuFunction_new(f, p, &spec));
  GpuArray_clear(&start);
  GpuArray_clear(&constant);
  return give_plan(plan, p, status);
}

static void save(const char *own, const char *other) {
  GpuFunction *f = NULL;
  GpuPlan *p = NULL;
  CHECK_OK(build(&f, &p, a, b));
  if (own != NULL)
    CHECK_OK(GpuPlan_name_context(p, 0, own));
  if (other != NULL)
    CHECK_OK(GpuPlan_name_context(p, 1, other));
  CHECK_OK(GpuFunction_save(f, path));
  GpuFunction_free(f);
  GpuPlan_free(p);
}

/* Two calls: a value that is kept, results where they belong, and a new shape. */
static int call_twice(GpuFunction *f, gpucontext *own, gpucontext *other, bool looks) {
  int status = GA_NO_ERROR;
  for (size_t n = 4; n > 2; n--) {
    GpuArray x = {0}, outs[2] = {{0}};
    STEP(GpuArray_zeros(&x, own, GA_FLOAT, 1, &n, GA_C_ORDER));
    STEP(GpuFunction_call(f, (GpuArray *[]){&outs[0], &outs[1]},
                          (const GpuArray *[]){&x}, NULL));
    if (status == GA_NO_ERROR && looks) {
      CHECK(n < 4 || has(&outs[0], own, 2, 3));
      CHECK(outs[0].dimensions[0] == (n == 4 ? 2u : 4u));
      CHECK(has(&outs[1], other, 2, 3));
    }
    GpuArray_clear(&x);
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
  }
  return status;
}

static void check_loaded(GpuFunction *f, gpucontext *own, gpucontext *other) {
  gpucontext *ctx = NULL;
  GpuArray got = {0}, x = floats(own, 3, 7), outs[2] = {{0}};
  CHECK_OK(GpuFunction_context(f, GF_INPUTS, 0, &ctx));
  CHECK(ctx == own);
  CHECK_OK(GpuFunction_context(f, GF_OUTPUTS, 0, &ctx));
  CHECK(ctx == own);
  CHECK_OK(GpuFunction_context(f, GF_OUTPUTS, 1, &ctx));
  CHECK(ctx == other);
  CHECK_OK(GpuFunction_context(f, GF_VALUES, 0, &ctx));
  CHECK(ctx == other);
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_context(f, GF_OUTPUTS, 2, &ctx));
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_context(f, GF_INTS, 0, &ctx));
  CHECK_OK(call_twice(f, own, other, true));
  CHECK_OK(GpuFunction_call(f, (GpuArray *[]){&outs[0], &outs[1]},
                            (const GpuArray *[]){&x}, NULL));
  CHECK_OK(GpuFunction_get(f, "w", &got));
  CHECK(has(&got, other, 3, 7));
  GpuArray_clear(&got);
  GpuArray_clear(&x);
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
}

/* ---- names ---- */

static void test_each_name_stands_for_a_context_of_the_program(void) {
  gpucontext *const pairs[][2] = {{a, b}, {b, a}, {a, a}};
  char name[GPUPLAN_NAME];
  unsigned int n = 0;
  save("dev0", "dev1");
  CHECK_OK(GpuPlan_file_context(path, 0, name, &n));
  CHECK(n == 2 && strcmp(name, "dev0") == 0);
  CHECK_OK(GpuPlan_file_context(path, 1, name, &n));
  CHECK(n == 2 && strcmp(name, "dev1") == 0);
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_file_context(path, 2, name, &n));
  for (int i = 0; i < 3; i++) {
    const gpuplan_context given[] = {
        {"other", b}, {"dev1", pairs[i][1]}, {"dev0", pairs[i][0]}};
    GpuFunction *f = NULL;
    CHECK_OK(GpuFunction_load_on(&f, 3, given, path));
    check_loaded(f, pairs[i][0], pairs[i][1]);
    GpuFunction_free(f);
  }
}

static char *content(size_t *size) {
  FILE *file = fopen(path, "rb");
  char *bytes = malloc(1 << 16);
  *size = fread(bytes, 1, 1 << 16, file);
  fclose(file);
  return bytes;
}

static void test_a_loaded_function_writes_the_file_it_came_from(void) {
  const gpuplan_context given[] = {{"dev0", b}, {"dev1", a}};
  size_t first_size, second_size;
  GpuFunction *f = NULL;
  save("dev0", "dev1");
  char *first = content(&first_size);
  CHECK_OK(GpuFunction_load_on(&f, 2, given, path));
  CHECK_OK(GpuFunction_save(f, path));
  char *second = content(&second_size);
  CHECK(first_size == second_size && memcmp(first, second, first_size) == 0);
  free(first);
  free(second);
  GpuFunction_free(f);
}

static void test_names_that_nobody_gave(void) {
  const gpuplan_context given[] = {{NULL, b}, {"dev1", a}};
  char name[GPUPLAN_NAME] = "before";
  unsigned int n = 0;
  GpuFunction *f = NULL;
  save(NULL, NULL);
  CHECK_OK(GpuPlan_file_context(path, 0, name, &n));
  CHECK(n == 2 && *name == '\0');
  CHECK_OK(GpuFunction_load_on(&f, 2, given, path));
  check_loaded(f, b, a);
  GpuFunction_free(f);
}

static void test_a_file_of_one_context(void) {
  unsigned int x, n = 0;
  char name[GPUPLAN_NAME] = "before";
  const gpuplan_context named = {"dev0", b}, own = {NULL, b};
  GpuPlan *p = NULL, *q = NULL;
  CHECK_OK(GpuPlan_new(&p, a, "one"));
  CHECK_OK(GpuPlan_name_context(p, 0, "dev0"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_copy(p, &x, "copy", x));
  CHECK_OK(GpuPlan_output(p, x));
  CHECK_OK(GpuPlan_save(p, path));
  size_t size;
  char *bytes = content(&size);
  CHECK(bytes[8] == 5); /* the format: libraries before this one read it */
  free(bytes);
  CHECK_OK(GpuPlan_file_context(path, 0, name, &n));
  CHECK(n == 1 && *name == '\0');
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_load_on(&q, 1, &named, path));
  CHECK_TEXT("names no context");
  CHECK_OK(GpuPlan_load_on(&q, 1, &own, path));
  GpuPlan_free(q);
  GpuPlan_free(p);
}

static void test_contexts_that_are_missing(void) {
  const gpuplan_context given[] = {{"dev0", a}, {NULL, b}}, none = {NULL, NULL};
  GpuFunction *f = NULL;
  save("dev0", "dev1");
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_load(&f, a, path));
  CHECK_TEXT("of 2 contexts (dev0, dev1), and none is given for dev1");
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_load_on(&f, 2, given, path));
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_load_on(&f, 0, given, path));
  CHECK_TEXT("none is given for dev0");
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_load_on(&f, 1, &none, path));
  CHECK(f == NULL);
}

static void test_names_that_are_refused(void) {
  char longest[GPUPLAN_NAME + 1];
  GpuFunction *f = NULL;
  GpuPlan *p = NULL;
  CHECK_OK(build(&f, &p, a, b));
  memset(longest, 'n', sizeof longest);
  longest[GPUPLAN_NAME] = '\0';
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_name_context(p, 1, longest));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_name_context(p, 1, ""));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_name_context(p, 2, "dev2"));
  CHECK_OK(GpuPlan_name_context(p, 1, "other"));
  CHECK_OK(GpuPlan_name_context(p, 0, "dev1"));
  CHECK_OK(GpuFunction_save(f, path));
  CHECK_OK(GpuPlan_name_context(p, 0, "other"));
  CHECK_STATUS(GA_INVALID_ERROR, GpuFunction_save(f, path));
  CHECK_TEXT("contexts 0 and 1 of spread have the name other");
  GpuFunction_free(f);
  GpuPlan_free(p);
}

/* ---- what fails ---- */

static int save_and_load(gpucontext *ctx) {
  const gpuplan_context given[] = {{"dev0", b}, {"dev1", a}};
  char name[GPUPLAN_NAME];
  unsigned int n;
  GpuFunction *f = NULL, *g = NULL;
  GpuPlan *p = NULL;
  (void)ctx;
  int status = build(&f, &p, a, b);
  STEP(GpuPlan_name_context(p, 0, "dev0"));
  STEP(GpuFunction_save(f, path));
  STEP(GpuPlan_file_context(path, 1, name, &n));
  STEP(GpuFunction_load_on(&g, 2, given, path));
  STEP(call_twice(g, b, a, false));
  GpuFunction_free(g);
  GpuFunction_free(f);
  GpuPlan_free(p);
  return status;
}

static void test_each_allocation_fails(void) {
  fail_each_allocation(save_and_load, a);
}

static void put(char *bytes, size_t size) {
  const ga_hash hash = ga__hash(bytes + HEAD, size - HEAD, (ga_hash){0, 0});
  const uint64_t words[3] = {size - HEAD, hash.a, hash.b};
  memcpy(bytes + HEAD - sizeof words, words, sizeof words);
  FILE *file = fopen(path, "wb");
  CHECK(fwrite(bytes, 1, size, file) == size);
  fclose(file);
}

/* With one byte changed, or the rest cut off, under a hash that fits: an error, or a
 * function of other steps. */
static void test_damage(void) {
  const gpuplan_context given[] = {{"dev0", a}, {"dev1", b}};
  char name[GPUPLAN_NAME];
  unsigned int n;
  size_t size;
  save("dev0", "dev1");
  char *bytes = content(&size);
  for (size_t i = HEAD; i < 2 * size - HEAD; i += 5) {
    GpuFunction *f = NULL;
    const bool cuts = i >= size;
    const size_t at = cuts ? i - size + HEAD : i;
    const char before = bytes[at];
    bytes[at] = (char)(cuts ? before : before ^ 3);
    put(bytes, cuts ? at : size);
    const int seen = GpuPlan_file_context(path, 1, name, &n);
    CHECK(seen == GA_NO_ERROR || seen == GA_VALUE_ERROR || seen == GA_INVALID_ERROR);
    if (GpuFunction_load_on(&f, 2, given, path) == GA_NO_ERROR)
      call_twice(f, a, b, false);
    else
      CHECK(cuts || f == NULL);
    GpuFunction_free(f);
    bytes[at] = before;
  }
  free(bytes);
}

int main(void) {
  make_file(path);
  a = open_null();
  b = open_null();
  test_each_name_stands_for_a_context_of_the_program();
  test_a_loaded_function_writes_the_file_it_came_from();
  test_names_that_nobody_gave();
  test_a_file_of_one_context();
  test_contexts_that_are_missing();
  test_names_that_are_refused();
  test_each_allocation_fails();
  test_damage();
  gpucontext_deref(a);
  gpucontext_deref(b);
  unlink(path);
  return check_result("saved_contexts");
}
