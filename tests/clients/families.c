/* Runs saved functions from C and compares what they give with what NumPy wrote.
 *
 *   families FOLDER DEVICE...
 *
 * tests/family_files.py tells what the folder has. Nothing of the functions is known
 * here; the last line says how many results and values were right. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuarray/array.h>
#include <gpuarray/function.h>

#define MOST 64 /* inputs or results of a function */

typedef struct client {
  const char *folder;
  char function[512]; /* what it is, for messages */
  const double *data;
  FILE *calls;
  gpucontext *ctx;
  GpuFunction *f;
  double rtol, atol;
  long right;
} client;

/* A call as it is gathered, and its results. */
typedef struct call {
  unsigned int n_in, n_int, n_out, made;
  GpuArray arrays[MOST], results[MOST];
  const GpuArray *ins[MOST];
  GpuArray *outs[MOST];
  long long ints[MOST];
} call;

static void fail(const client *c, const char *what) {
  fprintf(stderr, "%s: %s: %s\n", c->function, what, gpuarray_error_text());
  exit(1);
}

static void check(const client *c, int status, const char *what) {
  if (status != GA_NO_ERROR)
    fail(c, what);
}
#define TRY(call) check(c, (call), #call)

/* ---- arrays of the folder ---- */

typedef struct described {
  int typecode;
  unsigned int nd;
  size_t dims[GA_MAX_NDIM], size;
  const double *elements; /* of a complex dtype two numbers each */
} described;

static bool is_complex(int typecode) {
  return typecode == GA_CFLOAT || typecode == GA_CDOUBLE;
}

static int typecode_of(const client *c, const char *name) {
  static const struct {
    const char *name;
    int typecode;
  } types[] = {
      {"bool", GA_BOOL},      {"int8", GA_BYTE},         {"int16", GA_SHORT},
      {"int32", GA_INT},      {"int64", GA_LONG},        {"uint8", GA_UBYTE},
      {"uint16", GA_USHORT},  {"uint32", GA_UINT},       {"uint64", GA_ULONG},
      {"float16", GA_HALF},   {"bfloat16", GA_BFLOAT16}, {"float32", GA_FLOAT},
      {"float64", GA_DOUBLE}, {"complex64", GA_CFLOAT},  {"complex128", GA_CDOUBLE}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i].name, name) == 0)
      return types[i].typecode;
  fail(c, name);
  return 0;
}

/* The array that the next words of the line tell of; `type` is the first of them. */
static described get_array(const client *c, const char *type) {
  described d = {.typecode = typecode_of(c, type), .size = 1};
  size_t offset;
  if (fscanf(c->calls, "%zu %u", &offset, &d.nd) != 2 || d.nd > GA_MAX_NDIM)
    fail(c, "an array's words");
  for (unsigned int i = 0; i < d.nd; i++) {
    if (fscanf(c->calls, "%zu", &d.dims[i]) != 1)
      fail(c, "an array's lengths");
    d.size *= d.dims[i];
  }
  d.elements = c->data + offset;
  return d;
}

static void to_device(const client *c, GpuArray *a, const described *d) {
  const int wide = is_complex(d->typecode) ? GA_CDOUBLE : GA_DOUBLE;
  GpuArray up;
  TRY(GpuArray_copy_from_host(&up, c->ctx, d->elements, wide, d->nd, d->dims, NULL));
  TRY(GpuArray_astype(a, &up, d->typecode, GA_C_ORDER));
  GpuArray_clear(&up);
}

static bool is_close(const client *c, double found, double wanted) {
  return found == wanted || (isnan(found) && isnan(wanted)) ||
         fabs(found - wanted) <= c->atol + c->rtol * fabs(wanted);
}

/* Ends the program where an array is not what NumPy wrote. */
static void compare(client *c, const GpuArray *a, const described *d) {
  const bool pairs = is_complex(d->typecode);
  const size_t count = pairs ? 2 * d->size : d->size;
  if (a->typecode != d->typecode || a->nd != d->nd ||
      memcmp(a->dimensions, d->dims, d->nd * sizeof *d->dims) != 0) {
    fprintf(stderr, "%s: a result of another type or shape\n", c->function);
    exit(1);
  }
  GpuArray wide;
  double *found = malloc((count + 1) * sizeof *found);
  TRY(GpuArray_astype(&wide, a, pairs ? GA_CDOUBLE : GA_DOUBLE, GA_C_ORDER));
  TRY(GpuArray_read(found, count * sizeof *found, &wide));
  for (size_t i = 0; i < count; i++)
    if (!is_close(c, found[i], d->elements[i])) {
      fprintf(stderr, "%s: element %zu is %.17g, NumPy has %.17g\n", c->function, i,
              found[i], d->elements[i]);
      exit(1);
    }
  GpuArray_clear(&wide);
  free(found);
  c->right++;
}

/* ---- functions and calls ---- */

static void begin_function(client *c) {
  char file[64], path[4096];
  if (fscanf(c->calls, "%63s %lf %lf %511[^\n]", file, &c->rtol, &c->atol,
             c->function) != 4)
    fail(c, "a function's words");
  snprintf(path, sizeof path, "%s/%s", c->folder, file);
  GpuFunction_free(c->f);
  TRY(GpuFunction_load(&c->f, c->ctx, path));
}

static void add_given(client *c, call *k) {
  char type[32];
  if (fscanf(c->calls, "%31s", type) != 1 || k->n_in == MOST || k->n_int == MOST)
    fail(c, "an input");
  if (strcmp(type, "int") == 0) {
    if (fscanf(c->calls, "%lld", &k->ints[k->n_int++]) != 1)
      fail(c, "an integer");
  } else if (strcmp(type, "none") == 0) {
    k->ins[k->n_in++] = NULL;
  } else {
    const described d = get_array(c, type);
    to_device(c, &k->arrays[k->n_in], &d);
    k->ins[k->n_in] = &k->arrays[k->n_in];
    k->n_in++;
  }
}

static void run(client *c, call *k) {
  unsigned int n_in, n_int;
  TRY(GpuFunction_count(c->f, GF_INPUTS, &n_in));
  TRY(GpuFunction_count(c->f, GF_INTS, &n_int));
  TRY(GpuFunction_count(c->f, GF_OUTPUTS, &k->n_out));
  if (n_in != k->n_in || n_int != k->n_int || k->n_out > MOST)
    fail(c, "other inputs");
  for (unsigned int i = 0; i < k->n_out; i++)
    k->outs[i] = &k->results[i];
  TRY(GpuFunction_call(c->f, k->outs, k->ins, k->ints));
}

static void end_call(call *k) {
  for (unsigned int i = 0; i < k->n_in; i++)
    GpuArray_clear(&k->arrays[i]);
  for (unsigned int i = 0; i < k->n_out; i++)
    GpuArray_clear(&k->results[i]);
  memset(k, 0, sizeof *k);
}

static void compare_value(client *c) {
  char name[64], type[32];
  GpuArray value;
  if (fscanf(c->calls, "%63s %31s", name, type) != 2)
    fail(c, "a value's words");
  const described d = get_array(c, type);
  TRY(GpuFunction_get(c->f, name, &value));
  compare(c, &value, &d);
  GpuArray_clear(&value);
}

/* The lines, one after another; the call is made when the first result is asked for. */
static void run_all(client *c) {
  static call k;
  char word[32], type[32];
  bool is_called = true;
  unsigned int compared = 0;
  while (fscanf(c->calls, "%31s", word) == 1) {
    const bool gives = strcmp(word, "given") == 0;
    if (!gives && !is_called && strcmp(word, "call") != 0) {
      run(c, &k);
      is_called = true;
    }
    if (gives) {
      add_given(c, &k);
    } else if (strcmp(word, "result") == 0) {
      if (fscanf(c->calls, "%31s", type) != 1 || compared == k.n_out)
        fail(c, "a result");
      const described d = get_array(c, type);
      compare(c, &k.results[compared++], &d);
    } else if (strcmp(word, "value") == 0) {
      compare_value(c);
    } else {
      if (compared != k.n_out)
        fail(c, "more results than NumPy's");
      end_call(&k);
      compared = 0;
      if (strcmp(word, "function") == 0)
        begin_function(c);
      else
        is_called = false;
    }
  }
  if (compared != k.n_out)
    fail(c, "more results than NumPy's");
  end_call(&k);
}

static double *read_data(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/data", folder);
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0)
    return NULL;
  const long size = ftell(file);
  double *data = malloc((size_t)size + sizeof *data);
  rewind(file);
  if (data != NULL && fread(data, 1, (size_t)size, file) != (size_t)size) {
    free(data);
    data = NULL;
  }
  fclose(file);
  return data;
}

int main(int argc, char **argv) {
  client c = {.folder = argv[1]};
  char path[4096];
  double *data = argc > 2 ? read_data(argv[1]) : NULL;
  if (data == NULL) {
    fprintf(stderr, "usage: families FOLDER DEVICE...\n");
    return 2;
  }
  c.data = data;
  for (int i = 2; i < argc; i++) {
    snprintf(path, sizeof path, "%s/calls", c.folder);
    c.calls = fopen(path, "r");
    if (c.calls == NULL) {
      perror(path);
      return 1;
    }
    check(&c, gpucontext_open(&c.ctx, argv[i]), argv[i]);
    run_all(&c);
    GpuFunction_free(c.f);
    c.f = NULL;
    gpucontext_deref(c.ctx);
    fclose(c.calls);
  }
  free(data);
  printf("%ld\n", c.right);
  return 0;
}
