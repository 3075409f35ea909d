/* Every operation on arrays while the n-th allocation of the host fails, for every n,
 * and while the device disappears at its n-th call: the status and a text, outputs as
 * they were, nothing leaked (the leak checker watches), and after a failed allocation
 * the same call works. On the null backend. */
#include "null_context.h"

#include <gpuarray/blas.h>
#include <gpuarray/buffer_blas.h>
#include <gpuarray/dlpack.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/index.h>
#include <gpuarray/kernel.h>
#include <gpuarray/plan.h>
#include <gpuarray/random.h>
#include <gpuarray/reduction.h>
#include <gpuarray/scan.h>
#include <gpuarray/sort.h>

#include "float_sum.h"
#include "null/backend.h"

enum { ROWS = 40, COLUMNS = 300 };

typedef struct fixture {
  gpucontext *ctx, *other;
  GpuArray a, b, turned, slice; /* floats; of `slice` every second column */
  GpuArray far;                 /* on another device */
  GpuArray places, positions, mask, row, square, number;
  GpuArray out, more; /* what an operation makes */
} fixture;

static GpuArray untouched;

/* ---- operations ---- */

static const size_t dims[2] = {ROWS, COLUMNS}, flat[1] = {ROWS * COLUMNS};

#define OPERATION(name, call)                                                          \
  static int name(fixture *f) {                                                        \
    return call;                                                                       \
  }

OPERATION(make, GpuArray_empty(&f->out, f->ctx, GA_INT, 2, dims, GA_C_ORDER))
OPERATION(make_zeros, GpuArray_zeros(&f->out, f->ctx, GA_INT, 2, dims, GA_F_ORDER))
OPERATION(view, GpuArray_view(&f->out, &f->a))
OPERATION(copy, GpuArray_copy(&f->out, &f->turned, GA_C_ORDER))
OPERATION(convert, GpuArray_astype(&f->out, &f->slice, GA_HALF, GA_C_ORDER))
OPERATION(move, GpuArray_move(&f->b, &f->turned))
OPERATION(set, GpuArray_setarray(&f->b, &f->row))
OPERATION(transfer, GpuArray_transfer(&f->far, &f->a))
OPERATION(bring, GpuArray_transfer(&f->a, &f->far))
OPERATION(fill, GpuArray_memset(&f->a, 7))
OPERATION(reshape, GpuArray_reshape(&f->out, &f->turned, 1, flat, GA_C_ORDER, 0))
OPERATION(pick_rows, GpuArray_take1(&f->a, &f->b, &f->places, 0))
OPERATION(pick_checked, GpuArray_take1(&f->a, &f->b, &f->places, 1))
OPERATION(count, GpuArray_count_nonzero(&(size_t){0}, &f->slice))
OPERATION(nonzero, GpuArray_nonzero(&f->out, &f->slice))
OPERATION(compress, GpuArray_compress(&f->out, &f->a, &f->mask))
OPERATION(put_mask, GpuArray_put_mask(&f->a, &f->mask, &f->number))
OPERATION(sort, GpuArray_sort(&f->b, &f->a, 1, 0))
OPERATION(sort_turned, GpuArray_sort(&f->b, &f->turned, 0, GA_SORT_DESCENDING))
OPERATION(argsort, GpuArray_argsort(&f->positions, &f->a, 0, 0))
OPERATION(sort_pairs,
          GpuArray_sort_pairs(&f->b, &f->positions, &f->a, &f->positions, 1, 0))
OPERATION(cumsum, GpuArray_cumsum(&f->b, &f->a, 1, 0))
OPERATION(cumprod, GpuArray_cumprod(&f->b, &f->slice, 0, GA_SCAN_REVERSE))
OPERATION(cummax, GpuArray_cummax(&f->b, &f->a, 0, 0))
OPERATION(cummin, GpuArray_cummin(&f->a, &f->a, 1, GA_SCAN_EXCLUSIVE))
OPERATION(dot, GpuArray_rdot(&f->row, &f->row, &f->number, 0))
OPERATION(gemv, GpuArray_rgemv(cb_trans, 1, &f->square, &f->row, 0, &f->row, 0))
OPERATION(gemm, GpuArray_rgemm(cb_no_trans, cb_trans, 1, &f->square, &f->square, 0,
                               &f->square, 0))
OPERATION(ger, GpuArray_rger(1, &f->row, &f->row, &f->square, 0))
OPERATION(bias, GpuArray_gemm_bias(cb_no_trans, cb_no_trans, &f->a, &f->square, &f->row,
                                   GA_ACTIVATION_RELU, &f->b, 0))
OPERATION(sync, gpucontext_sync(f->ctx))
OPERATION(trim, gpucontext_trim(f->ctx))

static int from_host(fixture *f) {
  static float memory[ROWS * COLUMNS];
  const ssize_t strides[2] = {4, 4 * ROWS};
  return GpuArray_copy_from_host(&f->out, f->ctx, memory, GA_FLOAT, 2, dims, strides);
}

static int read_back(fixture *f) {
  static float memory[ROWS * COLUMNS];
  return GpuArray_read(memory, sizeof memory, &f->a);
}

static int split_and_join(fixture *f) {
  GpuArray *halves[2] = {&f->out, &f->more};
  const GpuArray *list[2] = {&f->a, &f->turned};
  size_t point[1] = {10};
  GA_TRY(GpuArray_split(halves, &f->a, 1, point, 0));
  GpuArray_clear(&f->out);
  GpuArray_clear(&f->more);
  f->out = f->more = untouched;
  return GpuArray_concatenate(&f->out, list, 2, 1, GA_DOUBLE);
}

static int take(fixture *f) {
  const GpuArray *list[1] = {&f->places};
  GA_TRY(GpuArray_put(&f->a, 1, list, 0, &f->row, GA_INDEX_WRAP));
  GA_TRY(GpuArray_add_at(&f->a, 1, list, 0, &f->b, GA_INDEX_CLIP));
  return GpuArray_take(&f->out, &f->turned, 1, list, 0, GA_INDEX_RAISE);
}

static int topk(fixture *f) {
  const size_t few[2] = {ROWS, 5};
  GpuArray values, at;
  GA_TRY(GpuArray_empty(&values, f->ctx, GA_FLOAT, 2, few, GA_C_ORDER));
  int status = GpuArray_empty(&at, f->ctx, GA_LONG, 2, few, GA_C_ORDER);
  if (status == GA_NO_ERROR) {
    status = GpuArray_topk(&values, &at, &f->a, 5, 1, 1, 1);
    GpuArray_clear(&at);
  }
  GpuArray_clear(&values);
  return status;
}

static int random_numbers(fixture *f) {
  gpurandom g;
  gpurandom_init(&g, 1, 2);
  int status = GpuArray_random_uniform(&f->slice, &g, 0, 1);
  CHECK(status == GA_NO_ERROR || g.position == 0);
  GA_TRY(status);
  GA_TRY(GpuArray_random_normal(&f->a, &g, 0, 1));
  GA_TRY(GpuArray_random_exponential(&f->a, &g, 1));
  GA_TRY(GpuArray_random_bits(&f->positions, &g));
  GA_TRY(GpuArray_random_integers(&f->positions, &g, 0, 9));
  return GpuArray_random_bernoulli(&f->mask, &g, 0.5);
}

static int expression(fixture *f) {
  gpuelemwise_arg args[3] = {
      {"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}, {"z", GA_FLOAT, GE_READ}};
  GpuElemwise *ge = NULL;
  GA_TRY(GpuElemwise_create(&ge, f->ctx, NULL, "y = x * z", 3, args, 0));
  int status = GpuElemwise_apply2(ge, &f->out, &f->a, &f->turned);
  void *list[3] = {&f->a, &f->turned, &f->a};
  if (status == GA_NO_ERROR)
    status = GpuElemwise_call(ge, list, 0);
  GpuElemwise_free(ge);
  return status;
}

static int reduction(fixture *f) {
  gpuelemwise_arg input = {"x", GA_FLOAT, GE_READ};
  gpureduction_spec spec = float_sum(&input);
  void *ins[1] = {&f->turned};
  int status = GA_NO_ERROR;
  GpuReduction *gr = GpuReduction_new(f->ctx, &spec, &status);
  if (gr != NULL)
    status = GpuReduction_apply(gr, &f->out, ins, 3, 0);
  GpuReduction_free(gr);
  return status;
}

static int extremum(fixture *f) {
  GpuArray made[2] = {untouched, untouched};
  void *ins[1] = {&f->slice};
  int status = GA_NO_ERROR;
  GpuReduction *gr =
      GpuReduction_extremum(f->ctx, GA_FLOAT, 1, GA_EXTREMUM_BOTH, &status);
  if (gr != NULL)
    status = GpuReduction_apply(gr, made, ins, 1, 1);
  GpuReduction_free(gr);
  if (status != GA_NO_ERROR) {
    CHECK(memcmp(&made[0], &untouched, sizeof untouched) == 0);
    return status;
  }
  GpuArray_clear(&made[0]);
  GpuArray_clear(&made[1]);
  return status;
}

static int scan(fixture *f) {
  const gpuscan_spec spec = {sizeof spec, NULL,     "x",      "a + b",
                             "0",         GA_FLOAT, GA_FLOAT, {"x", GA_FLOAT, GE_READ}};
  int status = GA_NO_ERROR;
  GpuScan *gs = GpuScan_new(f->ctx, &spec, &status);
  if (gs != NULL)
    status = GpuScan_call(gs, &f->b, &f->turned, 0, 0);
  GpuScan_free(gs);
  return status;
}

static int print(fixture *f) {
  FILE *nowhere = fopen("/dev/null", "w");
  GpuArray_fprintf(nowhere, &f->a);
  int status = GpuArray_fdump(nowhere, &f->slice);
  fclose(nowhere);
  return status;
}

static int tensors(fixture *f) {
  DLManagedTensorVersioned *t = NULL;
  DLManagedTensor *old = NULL;
  GA_TRY(GpuArray_to_dlpack_unversioned(&old, &f->a, -1));
  old->deleter(old);
  GA_TRY(GpuArray_to_dlpack(&t, &f->slice, -1));
  int status = GpuArray_from_dlpack(&f->out, f->ctx, t, -1);
  if (status != GA_NO_ERROR)
    t->deleter(t);
  return status;
}

static int queues(fixture *f) {
  gpuqueue *q = NULL;
  gpuevent *e = NULL;
  GA_TRY(gpuqueue_new(&q, f->ctx));
  int status = gpucontext_use_queue(f->ctx, q);
  if (status == GA_NO_ERROR)
    status = GpuArray_move(&f->b, &f->turned);
  if (status == GA_NO_ERROR)
    status = gpuevent_record(&e, q);
  if (status == GA_NO_ERROR)
    status = gpuqueue_wait_event(q, e);
  CHECK_OK(gpucontext_use_queue(f->ctx, NULL));
  gpuevent_release(e);
  gpuqueue_release(q);
  return status;
}

static int user_kernel(fixture *f) {
  const char *text = "KERNEL void f() {}";
  const int types[2] = {GA_BUFFER, GA_SIZE};
  const size_t one = 1;
  void *args[2] = {f->a.data, (void *)(uintptr_t)&one};
  GpuKernel k = {NULL, NULL};
  int status = GpuKernel_init(&k, f->ctx, 1, &text, NULL, "f", 2, types, 0, NULL);
  CHECK((k.k == NULL) == (status != GA_NO_ERROR));
  if (status == GA_NO_ERROR)
    status = GpuKernel_call(&k, 1, &one, &one, 0, args);
  GpuKernel_clear(&k);
  return status;
}

static int batches(fixture *f) {
  gpudata *x[2] = {f->a.data, f->a.data}, *y[2] = {f->b.data, f->b.data};
  size_t odd[2] = {0, 70}, out[2] = {0, 64};
  return gpublas_sgemmBatch(cb_row, cb_no_trans, cb_trans, 4, 4, 4, 1, x, odd, 4, x,
                            odd, 4, 0, y, out, 4, 2, 0);
}

static int add_plan(GpuPlan *p, unsigned int in) {
  gpuelemwise_arg y = {"y", GA_FLOAT, GE_WRITE}, x = {"x", GA_FLOAT, GE_READ};
  gpuplan_elemwise step = {.size = sizeof step,
                           .expr = "y = x + 1",
                           .n_out = 1,
                           .out_args = &y,
                           .n_in = 1,
                           .in_args = &x,
                           .ins = &in};
  unsigned int sum, copied, rows, width, broad, shape[2];
  GA_TRY(GpuPlan_elemwise(p, &sum, &step));
  GA_TRY(GpuPlan_copy(p, &copied, "copy", sum));
  GA_TRY(GpuPlan_dim(p, &rows, in, 0));
  GA_TRY(GpuPlan_dim(p, &width, in, 1));
  shape[0] = rows;
  shape[1] = width;
  GA_TRY(GpuPlan_broadcast(p, &broad, "broadcast", copied, 2, shape));
  return GpuPlan_output(p, broad);
}

static int plan(fixture *f) {
  GpuPlan *p = NULL;
  GpuArray *outs[1] = {&f->out};
  const GpuArray *ins[1] = {&f->a};
  unsigned int in;
  GA_TRY(GpuPlan_new(&p, f->ctx, "plan"));
  int status = GpuPlan_input(p, &in, GA_FLOAT, 2, 0);
  if (status == GA_NO_ERROR)
    status = add_plan(p, in);
  if (status == GA_NO_ERROR)
    status = GpuPlan_prepare(p);
  if (status == GA_NO_ERROR)
    status = GpuPlan_run(p, outs, ins, NULL);
  GpuPlan_free(p);
  return status;
}

typedef struct operation {
  const char *name;
  int (*run)(fixture *f);
} operation;

#define ROW(name) {#name, name}
static const operation operations[] = {ROW(make),
                                       ROW(make_zeros),
                                       ROW(view),
                                       ROW(copy),
                                       ROW(convert),
                                       ROW(move),
                                       ROW(set),
                                       ROW(transfer),
                                       ROW(bring),
                                       ROW(fill),
                                       ROW(reshape),
                                       ROW(pick_rows),
                                       ROW(pick_checked),
                                       ROW(count),
                                       ROW(nonzero),
                                       ROW(compress),
                                       ROW(put_mask),
                                       ROW(sort),
                                       ROW(sort_turned),
                                       ROW(argsort),
                                       ROW(sort_pairs),
                                       ROW(cumsum),
                                       ROW(cumprod),
                                       ROW(cummax),
                                       ROW(cummin),
                                       ROW(dot),
                                       ROW(gemv),
                                       ROW(gemm),
                                       ROW(ger),
                                       ROW(bias),
                                       ROW(sync),
                                       ROW(trim),
                                       ROW(from_host),
                                       ROW(read_back),
                                       ROW(split_and_join),
                                       ROW(take),
                                       ROW(topk),
                                       ROW(random_numbers),
                                       ROW(expression),
                                       ROW(reduction),
                                       ROW(extremum),
                                       ROW(scan),
                                       ROW(print),
                                       ROW(tensors),
                                       ROW(queues),
                                       ROW(user_kernel),
                                       ROW(batches),
                                       ROW(plan)};
enum { N_OPERATIONS = sizeof operations / sizeof *operations };

/* ---- a device with arrays ---- */

static void open_fixture(fixture *f) {
  const size_t wide[2] = {ROWS, 2 * COLUMNS}, square[2] = {COLUMNS, COLUMNS};
  const ssize_t starts[2] = {0, 0}, stops[2] = {ROWS, 2 * COLUMNS}, steps[2] = {1, 2};
  f->ctx = open_null();
  CHECK_OK(gpucontext_open(&f->other, "null"));
  CHECK_OK(GpuArray_zeros(&f->a, f->ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&f->b, f->ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&f->turned, f->ctx, GA_FLOAT, 2, dims, GA_F_ORDER));
  CHECK_OK(GpuArray_zeros(&f->slice, f->ctx, GA_FLOAT, 2, wide, GA_C_ORDER));
  CHECK_OK(GpuArray_index_inplace(&f->slice, starts, stops, steps));
  CHECK_OK(GpuArray_zeros(&f->far, f->other, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&f->places, f->ctx, GA_LONG, 1, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&f->positions, f->ctx, GA_LONG, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&f->mask, f->ctx, GA_BOOL, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&f->row, f->ctx, GA_FLOAT, 1, square, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&f->square, f->ctx, GA_FLOAT, 2, square, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&f->number, f->ctx, GA_FLOAT, 0, NULL, GA_C_ORDER));
  f->out = f->more = untouched;
}

/* Ends what a call left; an output that it did not make must be as it was. */
static void end_call(fixture *f, const char *name, int status) {
  GpuArray *outs[] = {&f->out, &f->more};
  for (int i = 0; i < 2; i++) {
    if (memcmp(outs[i], &untouched, sizeof untouched) == 0)
      continue;
    if (status == GA_NO_ERROR || strcmp(name, "expression") == 0)
      GpuArray_clear(outs[i]); /* that one makes an output before it can fail */
    else
      fprintf(stderr, "%s failed and changed an output\n", name), check_failures++;
    *outs[i] = untouched;
  }
}

static void close_fixture(fixture *f) {
  GpuArray *all[] = {&f->a,   &f->b,      &f->turned,    &f->slice,
                     &f->far, &f->places, &f->positions, &f->mask,
                     &f->row, &f->square, &f->number};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
  gpucontext_deref(f->other);
  gpucontext_deref(f->ctx);
}

/* ---- faults ---- */

/* `warm`: what can be kept, kernels above all, was made before. Not every allocation
 * that fails does harm, so that passing once proves nothing. */
static void fail_each_allocation(const operation *o, bool warm) {
  int passed = 0;
  for (long n = 0; passed < 12 && n < 3000; n++) {
    fixture f;
    open_fixture(&f);
    int status = warm ? o->run(&f) : GA_NO_ERROR;
    end_call(&f, o->name, status);
    ga__alloc_fail_at(n);
    status = o->run(&f);
    ga__alloc_fail_at(-1);
    end_call(&f, o->name, status);
    if (status == GA_MEMORY_ERROR)
      CHECK(strstr(gpuarray_error_text(), "memory") != NULL);
    else if (status != GA_NO_ERROR)
      fprintf(stderr, "%s, allocation %ld: %d, %s\n", o->name, n, status,
              gpuarray_error_text()),
          check_failures++;
    passed = status == GA_NO_ERROR ? passed + 1 : 0;
    status = o->run(&f);
    if (status != GA_NO_ERROR)
      fprintf(stderr, "%s after allocation %ld: %s\n", o->name, n,
              gpuarray_error_text()),
          check_failures++;
    end_call(&f, o->name, status);
    close_fixture(&f);
  }
  CHECK(passed == 12);
}

/* The call that meets it says that the device is gone; from then on the context does.
 */
static void lose_device(const operation *o) {
  int status = GA_RUN_ERROR;
  for (long n = 0; status != GA_NO_ERROR && n < 500; n++) {
    fixture f;
    open_fixture(&f);
    ga__null_disappear(f.ctx->device, n);
    status = o->run(&f);
    end_call(&f, o->name, status);
    if (status == GA_RUN_ERROR || status == GA_LOST_ERROR) {
      CHECK_TEXT("the null device has disappeared");
      int again = o->run(&f);
      end_call(&f, o->name, again);
      if (again != GA_LOST_ERROR && !(o->run == view && again == GA_NO_ERROR))
        fprintf(stderr, "%s on a lost device: %d, %s\n", o->name, again,
                gpuarray_error_text()),
            check_failures++;
    } else if (status != GA_NO_ERROR) {
      fprintf(stderr, "%s, device call %ld: %d, %s\n", o->name, n, status,
              gpuarray_error_text());
      check_failures++;
    }
    close_fixture(&f);
  }
  CHECK(status == GA_NO_ERROR);
}

int main(int argc, char **argv) {
  (void)argc;
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  memset(&untouched, 0x77, sizeof untouched);
  for (int i = 0; i < N_OPERATIONS; i++) {
    fail_each_allocation(&operations[i], false);
    fail_each_allocation(&operations[i], true);
    lose_device(&operations[i]);
  }
  return check_result(argv[0]);
}
