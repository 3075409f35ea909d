/* NULL, for each pointer of each public function in turn, everything else being valid:
 * GA_VALUE_ERROR and a text, and outputs as they were. A pointer that may be NULL, as
 * its header says, is not tried; what takes nothing but such pointers is called at the
 * end. test_null_products.c has products and plans, test_collectives.c communicators
 * that exist.
 */
#include "null_operands.h"

static char bytes[64];

static void test_contexts(void) {
  unsigned int count;
  size_t version;
  gpucontext_props *props = NULL;
  gpucontext *made = NULL;
  gpucontext_memory memory;
  gpucontext_cache cache;
  DLDevice device;
  intptr_t stream;
  CHECK_OK(gpucontext_props_new(&props));
  REFUSES(gpu_get_platform_count(P("null"), P(&count)));
  REFUSES(gpu_get_device_count(P("null"), 0, P(&count)));
  REFUSES(gpuarray_dnn_version(P("null"), P(&version)));
  REFUSES(gpucontext_props_new(P(&props)));
  REFUSES(gpucontext_set_blocking(P(ctx), 0));
  REFUSES(gpucontext_props_cuda_dev(P(props), 0));
  REFUSES(gpucontext_props_opencl_dev(P(props), 0, 0));
  REFUSES(gpucontext_props_sched(P(props), GA_CTX_SCHED_AUTO));
  REFUSES(gpucontext_props_set_single_stream(P(props)));
  REFUSES(gpucontext_props_kernel_cache(P(props), "/tmp"));
  REFUSES(gpucontext_props_alloc_cache(P(props), 0, 0));
  gpucontext_props_del(props);
  REFUSES(gpucontext_init(P(&made), P("null"), NULL));
  REFUSES(gpucontext_open(P(&made), "null"));
  CHECK(made == NULL);
  REFUSES(gpucontext_sync(P(ctx)));
  REFUSES(gpucontext_property(P(ctx), GA_CTX_PROP_NUMPROCS, P(&count)));
  REFUSES(gpucontext_memory_info(P(ctx), P(&memory)));
  REFUSES(gpucontext_cache_info(P(ctx), P(&cache)));
  REFUSES(gpucontext_trim(P(ctx)));
  REFUSES(gpucontext_set_limit(P(ctx), 0));
  REFUSES(gpucontext_set_allocator(P(ctx), NULL));
  REFUSES(gpucontext_set_tf32(P(ctx), 0));
  REFUSES(gpucontext_dlpack_device(P(ctx), P(&device)));
  REFUSES(gpucontext_dlpack_stream(P(ctx), P(&stream)));
  REFUSES(gpuarray_cuda_compile(P(""), P("sm_90"), NULL));
  REFUSES(gpuarray_keep_products(P("cuda"), P("sm_90"), P("/proc/none"), P(&count)));
}

static void test_buffers(void) {
  gpudata *x = gpudata_alloc(ctx, 8, NULL, 0, &ret);
  gpudata *y = gpudata_alloc(ctx, 8, NULL, 0, &ret);
  size_t size;
  REFUSES(STATUS_OF(gpudata_alloc(P(ctx), 8, NULL, 0, &ret)));
  REFUSES(STATUS_OF(gpudata_alloc(P(ctx), 8, P(bytes), GA_BUFFER_INIT, &ret)));
  REFUSES((ret = 0, gpudata_share(P(x), P(y), &ret) < 0 ? ret : 0));
  REFUSES(gpudata_move(P(x), 0, P(y), 0, 8));
  REFUSES(gpudata_transfer(P(x), 0, P(y), 0, 8));
  REFUSES(gpudata_read(P(bytes), P(x), 0, 8));
  REFUSES(gpudata_write(P(x), 0, P(bytes), 8));
  REFUSES(gpudata_memset(P(x), 0, 0));
  REFUSES(gpudata_sync(P(x)));
  REFUSES(gpudata_property(P(x), GA_BUFFER_PROP_SIZE, P(&size)));
  CHECK(gpudata_share(NULL, x, NULL) == -1);
  CHECK(gpudata_alloc(NULL, 8, NULL, 0, NULL) == NULL);
  gpudata_release(x);
  gpudata_release(y);
}

static void test_kernels(void) {
  const char *text = "KERNEL void f() {}", *none = NULL;
  const int types[1] = {GA_FLOAT};
  const size_t one = 1;
  size_t gs = 0, ls = 0;
  unsigned int count;
  gpudata *word;
  float x = 0;
  void *args[1] = {&x}, *no_args[1] = {NULL};
  GpuKernel k;
  CHECK_OK(GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 1, types, 0, NULL));
  GpuKernel refused = {NULL, NULL};
  REFUSES(GpuKernel_init(P(&refused), P(ctx), 1, P(&text), NULL, P("f"), 1, P(types), 0,
                         NULL));
  REFUSES(GpuKernel_init(&refused, ctx, 1, EITHER(&none, &text), NULL, "f", 1, types, 0,
                         NULL));
  CHECK(refused.k == NULL);
  REFUSES(STATUS_OF(
      gpukernel_init(P(ctx), 1, P(&text), NULL, P("f"), 1, P(types), 0, &ret, NULL)));
  REFUSES(gpukernel_setarg(P(k.k), 0, P(&x)));
  REFUSES(gpukernel_call(P(k.k), 1, P(&one), P(&one), 0, args));
  REFUSES(gpukernel_call(k.k, 1, &one, &one, 0, EITHER(no_args, args)));
  REFUSES(gpukernel_property(P(k.k), GA_KERNEL_PROP_NUMARGS, P(&count)));
  REFUSES(gpukernel_report_site(P(&word), P(&count), P(ctx), P("f")));
  REFUSES(GpuKernel_setarg(P(&k), 0, P(&x)));
  REFUSES(GpuKernel_sched(P(&k), 5, P(&gs), P(&ls)));
  REFUSES(GpuKernel_call(P(&k), 1, P(&one), P(&one), 0, args));
  CHECK_STATUS(GA_VALUE_ERROR,
               GpuKernel_call(&k, 1, &one, &one, 0, NULL)); /* not set */
  REFUSES(GpuKernel_setarg(EITHER(&refused, &k), 0, &x));
  REFUSES(GpuKernel_sched(EITHER(&refused, &k), 5, &gs, &ls));
  REFUSES(GpuKernel_call(EITHER(&refused, &k), 1, &one, &one, 0, args));
  CHECK(GpuKernel_context(&refused) == NULL);
  GpuKernel_clear(&refused);
  GpuKernel_clear(&k);
}

static void test_arrays(void) {
  size_t points[1] = {2};
  GpuArray *halves[2] = {&out, &other_out};
  const GpuArray *both[2] = {&a, &b};
  REFUSES(GpuArray_empty(P(&out), P(ctx), GA_FLOAT, 2, P(dims), GA_C_ORDER));
  REFUSES(GpuArray_zeros(P(&out), P(ctx), GA_FLOAT, 2, P(dims), GA_C_ORDER));
  REFUSES(GpuArray_fromdata(P(&out), P(a.data), 0, GA_FLOAT, 2, P(dims), NULL, 1));
  REFUSES(
      GpuArray_copy_from_host(P(&out), P(ctx), P(bytes), GA_FLOAT, 2, P(dims), NULL));
  REFUSES(GpuArray_view(P(&out), P(&a)));
  REFUSES(GpuArray_sync(P(&a)));
  REFUSES(GpuArray_index(P(&out), P(&a), P(zeros), P(ends), P(steps)));
  REFUSES(GpuArray_index_inplace(P(&a), P(zeros), P(ends), P(steps)));
  REFUSES(GpuArray_take1(P(&b), P(&a), P(&positions), 1));
  REFUSES(GpuArray_setarray(P(&b), P(&a)));
  REFUSES(GpuArray_reshape(P(&out), P(&a), 2, P(dims), GA_C_ORDER, 0));
  REFUSES(GpuArray_reshape_inplace(P(&a), 2, P(dims), GA_C_ORDER));
  REFUSES(GpuArray_transpose(P(&out), P(&a), NULL));
  REFUSES(GpuArray_transpose_inplace(P(&a), NULL));
  REFUSES(GpuArray_dimshuffle(P(&out), P(&a), 2, P(order)));
  REFUSES(GpuArray_broadcast_to(P(&out), P(&a), 2, P(dims)));
  REFUSES(GpuArray_move(P(&b), P(&a)));
  REFUSES(GpuArray_split(P(halves), P(&a), 1, P(points), 0));
  REFUSES(GpuArray_concatenate(P(&out), P(both), 2, 0, GA_FLOAT));
  REFUSES_DAMAGED(&a, GpuArray_concatenate(&out, both, 2, 0, GA_FLOAT));
  REFUSES_DAMAGED(&b, GpuArray_concatenate(&out, both, 2, 0, GA_FLOAT));
  REFUSES(GpuArray_write(P(&a), P(bytes), sizeof bytes));
  REFUSES(GpuArray_read(P(bytes), sizeof bytes, P(&a)));
  void *hosts[1] = {bytes}, *no_hosts[1] = {NULL};
  const GpuArray *arrays[1] = {&a}, *no_arrays[1] = {NULL};
  REFUSES(GpuArray_read_all(1, P(hosts), P(arrays)));
  REFUSES(GpuArray_read_all(1, EITHER(no_hosts, hosts), arrays));
  REFUSES_DAMAGED(&a, GpuArray_read_all(1, hosts, arrays));
  REFUSES(GpuArray_read_all(1, hosts, EITHER(no_arrays, arrays)));
  gpuhost *place, *no_places[1] = {NULL};
  REFUSES(GpuArray_host(P(&place), P(&a), 0));
  REFUSES(gpucontext_set_host_limit(P(ctx), 0));
  REFUSES(gpucontext_host_memory(P(ctx), NULL, NULL, NULL));
  REFUSES_DAMAGED(&a, GpuArray_host(&place, &a, 0));
  REFUSES(GpuArray_read_hosts(1, no_places, P(hosts), P(arrays)));
  REFUSES(GpuArray_read_hosts(1, NULL, EITHER(no_hosts, hosts), arrays));
  REFUSES(GpuArray_read_hosts(1, NULL, hosts, EITHER(no_arrays, arrays)));
  REFUSES_DAMAGED(&a, GpuArray_read_hosts(1, NULL, hosts, arrays));
  REFUSES(GpuArray_memset(P(&a), 0));
  REFUSES(GpuArray_copy(P(&out), P(&a), GA_C_ORDER));
  REFUSES(GpuArray_astype(P(&out), P(&a), GA_INT, GA_C_ORDER));
  REFUSES(GpuArray_transfer(P(&b), P(&a)));
  REFUSES(GpuArray_fdump(P(stderr), P(&a)));
  GpuArray greatest, places;
  CHECK_OK(GpuArray_empty(&greatest, ctx, GA_FLOAT, 1, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&places, ctx, GA_LONG, 1, dims, GA_C_ORDER));
  REFUSES(GpuArray_maxandargmax(P(&greatest), P(&places), P(&a), 1, P(axes)));
  GpuArray_clear(&greatest);
  GpuArray_clear(&places);

  GpuArray *lacking[2] = {&out, NULL};
  const GpuArray *half[2] = {&a, NULL};
  REFUSES(GpuArray_split(EITHER(lacking, halves), &a, 1, points, 0));
  REFUSES(GpuArray_concatenate(&out, EITHER(half, both), 2, 0, GA_FLOAT));
}

/* An array that was cleared is as little an array as NULL is. */
static void test_cleared_arrays(void) {
  GpuArray none = {0};
  REFUSES(GpuArray_sync(EITHER(&none, &a)));
  REFUSES(GpuArray_view(&out, EITHER(&none, &a)));
  REFUSES(GpuArray_index(&out, EITHER(&none, &a), zeros, ends, steps));
  REFUSES(GpuArray_copy(&out, EITHER(&none, &a), GA_C_ORDER));
  REFUSES(GpuArray_astype(&out, EITHER(&none, &a), GA_INT, GA_C_ORDER));
  REFUSES(GpuArray_move(EITHER(&none, &b), &a));
  REFUSES(GpuArray_move(&b, EITHER(&none, &a)));
  REFUSES(GpuArray_setarray(EITHER(&none, &b), &a));
  REFUSES(GpuArray_setarray(&b, EITHER(&none, &a)));
  REFUSES(GpuArray_transfer(&b, EITHER(&none, &a)));
  REFUSES(GpuArray_transfer(EITHER(&none, &b), &a));
  REFUSES(GpuArray_read(bytes, sizeof bytes, EITHER(&none, &a)));
  REFUSES(GpuArray_write(EITHER(&none, &a), bytes, sizeof bytes));
  REFUSES(GpuArray_memset(EITHER(&none, &a), 0));
  REFUSES(GpuArray_take1(&b, EITHER(&none, &a), &positions, 1));
  REFUSES(GpuArray_take1(EITHER(&none, &b), &a, &positions, 1));
  REFUSES(GpuArray_sort(&b, EITHER(&none, &a), 0, 0));
  REFUSES(GpuArray_cumsum(&b, EITHER(&none, &a), 0, 0));
  REFUSES(GpuArray_nonzero(&out, EITHER(&none, &a)));
  REFUSES(GpuArray_compress(&out, &a, EITHER(&none, &mask)));
  gpurandom g;
  gpurandom_init(&g, 1, 2);
  REFUSES(GpuArray_random_uniform(EITHER(&none, &a), &g, 0, 1));
  DLManagedTensorVersioned *tensor = NULL;
  REFUSES(GpuArray_to_dlpack(&tensor, EITHER(&none, &a), -1));
  CHECK(tensor == NULL && GpuArray_context(&none) == NULL);
  CHECK(GpuArray_share(&none, &a) == 0 && GpuArray_share(&none, &none) == 0);
}

static void test_picking_and_sorting(void) {
  size_t count;
  GpuArray places;
  const GpuArray *list[1] = {&positions}, *lacking[1] = {NULL};
  CHECK_OK(GpuArray_empty(&places, ctx, GA_LONG, 2, dims, GA_C_ORDER));
  REFUSES(GpuArray_take(P(&out), P(&a), 1, P(list), 0, GA_INDEX_RAISE));
  REFUSES(GpuArray_take(&out, &a, 1, EITHER(lacking, list), 0, 0));
  REFUSES_DAMAGED(&positions, GpuArray_take(&out, &a, 1, list, 0, GA_INDEX_RAISE));
  REFUSES_DAMAGED(&positions, GpuArray_put(&a, 1, list, 0, &b, GA_INDEX_RAISE));
  REFUSES_DAMAGED(&positions, GpuArray_add_at(&a, 1, list, 0, &b, GA_INDEX_RAISE));
  REFUSES(GpuArray_put(P(&a), 1, P(list), 0, P(&b), GA_INDEX_RAISE));
  REFUSES(GpuArray_put(&a, 1, EITHER(lacking, list), 0, &b, 0));
  REFUSES(GpuArray_add_at(P(&a), 1, P(list), 0, P(&b), GA_INDEX_RAISE));
  REFUSES(GpuArray_add_at(&a, 1, EITHER(lacking, list), 0, &b, 0));
  REFUSES(GpuArray_count_nonzero(P(&count), P(&a)));
  REFUSES(GpuArray_nonzero(P(&out), P(&a)));
  REFUSES(GpuArray_compress(P(&out), P(&a), P(&mask)));
  REFUSES(GpuArray_put_mask(P(&a), P(&mask), P(&b)));
  REFUSES(GpuArray_sort(P(&b), P(&a), 0, 0));
  REFUSES(GpuArray_argsort(P(&places), P(&a), 0, 0));
  REFUSES(GpuArray_sort_pairs(P(&b), P(&places), P(&a), P(&places), 0, 0));
  REFUSES(GpuArray_topk(&b, &places, P(&a), 4, 0, 1, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_topk(NULL, NULL, &a, 4, 0, 1, 1));
  REFUSES(GpuArray_cumsum(P(&b), P(&a), 0, 0));
  REFUSES(GpuArray_cumprod(P(&b), P(&a), 0, 0));
  REFUSES(GpuArray_cummax(P(&b), P(&a), 0, 0));
  REFUSES(GpuArray_cummin(P(&b), P(&a), 0, 0));
  GpuArray_clear(&places);
}

static void test_queues(void) {
  gpuqueue *q = NULL, *made = NULL;
  gpuevent *e = NULL, *recorded = NULL;
  gpulaunch launches[1];
  unsigned int count;
  double seconds;
  int done;
  CHECK_OK(gpuqueue_new(&q, ctx));
  CHECK_OK(gpuevent_record(&e, q));
  REFUSES(gpuqueue_new(P(&made), P(ctx)));
  REFUSES(gpuqueue_sync(P(q)));
  REFUSES(gpucontext_use_queue(P(ctx), NULL));
  REFUSES(gpuevent_record(P(&recorded), P(q)));
  REFUSES(gpuevent_wait(P(e)));
  REFUSES(gpuevent_query(P(e), P(&done)));
  REFUSES(gpuevent_seconds(P(&seconds), P(e), P(e)));
  REFUSES(gpuqueue_wait_event(P(q), P(e)));
  REFUSES(gpucontext_launches(P(ctx), 1, P(launches), P(&count)));
  CHECK(made == NULL && recorded == NULL);
  gpuevent_release(e);
  gpuqueue_release(q);
}

static void test_profiles(void) {
  gpuprofile *p = NULL, *made = NULL;
  gpuspan span;
  size_t count, total;
  CHECK_OK(gpuprofile_start(&p, ctx, 0));
  CHECK_OK(gpuprofile_stop(p));
  REFUSES(gpuprofile_start(P(&made), P(ctx), 0));
  REFUSES(gpuprofile_stop(P(p)));
  REFUSES(gpuprofile_spans(P(p), 0, 1, P(&span), P(&count), P(&total), NULL));
  CHECK(made == NULL);
  gpuprofile_release(p);
  gpuprofile_release(NULL);
}

/* There is no clique without a device, so that there is only NULL for one. */
static void test_communicators(void) {
  gpucommCliqueId id = {{0}};
  gpucomm *comm = NULL;
  int n;
  REFUSES(gpucomm_new(P(&comm), P(ctx), id, 1, 0));
  REFUSES(gpucomm_gen_clique_id(P(ctx), &id));
  REFUSES(gpucomm_get_count(P((gpucomm *)NULL), P(&n)));
  REFUSES(gpucomm_get_rank(P((gpucomm *)NULL), P(&n)));
  gpudata *x = a.data, *y = b.data;
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_reduce(x, 0, y, 0, 1, GA_INT, GA_SUM, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_all_reduce(x, 0, y, 0, 1, GA_INT, GA_SUM, NULL));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_reduce_scatter(x, 0, y, 0, 1, GA_INT, GA_SUM, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_broadcast(x, 0, 1, GA_INT, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_all_gather(x, 0, y, 0, 1, GA_INT, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_reduce_from(&a, GA_SUM, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_reduce(&a, &b, GA_SUM, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_all_reduce(&a, &b, GA_SUM, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_reduce_scatter(&a, &b, GA_SUM, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_broadcast(&a, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_all_gather(&a, &b, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_send(x, 0, 1, GA_INT, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_receive(x, 0, 1, GA_INT, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_all_to_all(x, 0, y, 0, 1, GA_INT, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_gather(x, 0, y, 0, 1, GA_INT, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_scatter(x, 0, y, 0, 1, GA_INT, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_abort(NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_state(NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_mark(NULL, 1));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_log(NULL, NULL, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_progress(NULL, NULL, NULL, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_send(&a, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_receive(&a, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_all_to_all(&a, &b, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_gather(&a, &b, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_scatter(&a, &b, 0, NULL));
}

/* What looks at a damaged array and has no status to give. */
static void test_damage_without_a_status(void) {
  FILE *nowhere = fopen("/dev/null", "w");
  for (damaged = NO_DAMAGE + 1; damaged < N_DAMAGES; damaged++) {
    GpuArray *h = hurt(&a);
    GpuArray_fprintf(nowhere, h);
    CHECK(GpuArray_share(h, &b) == 0 && GpuArray_share(&b, h) == 0);
    CHECK(GpuArray_share(h, &a) >= 0 && GpuArray_share(h, h) >= 0);
    CHECK(GpuArray_context(h) == ctx && GpuArray_error(h, 0) != NULL);
    GpuArray_fix_flags(h);
    if (damaged == DEEP || damaged == DEEPEST)
      CHECK(h->flags == GA_WRITEABLE);
  }
  damaged = NO_DAMAGE;
  fclose(nowhere);
}

/* What takes NULL, and what has no status to give. */
static void test_what_takes_null(void) {
  gpucontext_props_del(NULL);
  gpucontext_retain(NULL);
  gpucontext_deref(NULL);
  CHECK(gpucontext_name(NULL) != NULL);
  CHECK(gpucontext_blocking(NULL) == 0);
  CHECK(gpucontext_error(NULL, 0) != NULL && gpucomm_error(NULL) != NULL);
  CHECK(GpuArray_error(NULL, 0) != NULL && GpuKernel_error(NULL, 0) != NULL);
  CHECK(gpuarray_search_report(NULL) != NULL && gpuarray_get_extension(NULL) == NULL);
  gpudata_retain(NULL);
  gpudata_release(NULL);
  gpuhost_release(NULL);
  CHECK(gpuhost_bytes(NULL) == NULL);
  CHECK(gpudata_context(NULL) == NULL);
  gpukernel_retain(NULL);
  gpukernel_release(NULL);
  CHECK(gpukernel_context(NULL) == NULL && GpuKernel_context(NULL) == NULL);
  GpuKernel_clear(NULL);
  GpuArray_fix_flags(NULL);
  GpuArray_clear(NULL);
  CHECK(GpuArray_context(NULL) == NULL && GpuArray_share(NULL, &a) == 0);
  CHECK(GpuArray_share(&a, NULL) == 0);
  GpuArray_fprintf(NULL, &a);
  test_damage_without_a_status();
  GpuElemwise_free(NULL);
  GpuReduction_free(NULL);
  CHECK(GpuReduction_results(NULL) == 0);
  GpuScan_free(NULL);
  gpurandom_init(NULL, 1, 2);
  gpuqueue_retain(NULL);
  gpuqueue_release(NULL);
  gpuevent_release(NULL);
  CHECK(gpuqueue_context(NULL) == NULL && gpucontext_queue(NULL) == NULL);
  gpucomm_free(NULL);
  CHECK(gpucomm_context(NULL) == NULL);
  CHECK_OK(gpuarray_set_label(NULL));
  CHECK(gpuarray_register_type(NULL, &ret) == -1 && ret == GA_VALUE_ERROR);
  CHECK(gpuarray_register_type(NULL, NULL) == -1);
  int folder;
  CHECK_STATUS(GA_VALUE_ERROR, gpuarray_private_folder(&folder, NULL, 0));
  CHECK_STATUS(GA_VALUE_ERROR, gpuarray_private_folder(NULL, "/tmp", 0));
  CHECK(gpuarray_type_flagsa(1, NULL) == 0);
  gpuarray_elemwise_collapse(1, NULL, NULL, NULL);
  gpuarray_interrupt_by(NULL);
}

int main(int argc, char **argv) {
  (void)argc;
  open_untouched();
  make_arrays();
  test_contexts();
  test_buffers();
  test_kernels();
  test_arrays();
  test_cleared_arrays();
  test_picking_and_sorting();
  test_queues();
  test_profiles();
  test_communicators();
  test_what_takes_null();
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&positions);
  GpuArray_clear(&mask);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
