/* Operations refuse NULL: sorts, layers, reductions, random numbers, sparse matrices.
 */
#include "null_operands.h"

static void test_layers(void) {
  const size_t image[] = {1, 1, 4}, filters[] = {1, 1, 4}, one[] = {1, 1, 1};
  size_t shape[3];
  GpuArray x, w, y;
  gpuconv c;
  gpuconv_init(&c, 1);
  gpuconv_init(NULL, 1);
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 3, image, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&w, ctx, GA_FLOAT, 3, filters, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 3, one, GA_C_ORDER));
  REFUSES(gpuconv_shape(P(shape), P(&c), P(image), P(filters)));
  REFUSES(GpuArray_conv(P(&y), P(&x), P(&w), P(&c)));
  REFUSES(GpuArray_conv_grad_image(P(&x), P(&y), P(&w), P(&c)));
  REFUSES(GpuArray_conv_grad_filters(P(&w), P(&x), P(&y), P(&c)));
  const size_t images[] = {1, 1, 2, 2}, pair[] = {1, 1}, matrix[] = {4, 1};
  GpuArray maps, rows;
  gpuneighbours n;
  CHECK_OK(GpuArray_zeros(&maps, ctx, GA_FLOAT, 4, images, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&rows, ctx, GA_FLOAT, 2, matrix, GA_C_ORDER));
  CHECK_OK(gpuneighbours_init(&n, GA_NEIGHBOURS_VALID, images + 2, pair, pair));
  REFUSES(gpuneighbours_init(P(&n), 0, P(images + 2), P(pair), P(pair)));
  REFUSES(GpuArray_images_to_neighbours(P(&rows), P(&maps), P(&n)));
  REFUSES(GpuArray_neighbours_to_images(P(&maps), P(&rows), P(&n)));
  REFUSES_DAMAGED(&maps, GpuArray_images_to_neighbours(&rows, &maps, &n));
  REFUSES_DAMAGED(&rows, GpuArray_images_to_neighbours(&rows, &maps, &n));
  GpuArray_clear(&maps);
  GpuArray_clear(&rows);
  const size_t sequence[] = {2, 1, 3};
  GpuArray activations, labels, lengths, costs;
  CHECK_OK(GpuArray_zeros(&activations, ctx, GA_FLOAT, 3, sequence, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&labels, ctx, GA_INT, 2, pair, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&lengths, ctx, GA_INT, 1, pair, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&costs, ctx, GA_FLOAT, 1, pair, GA_C_ORDER));
  REFUSES(GpuArray_ctc(P(&costs), NULL, P(&activations), P(&labels), P(&lengths)));
  REFUSES_DAMAGED(&labels, GpuArray_ctc(&costs, NULL, &activations, &labels, &lengths));
  REFUSES_DAMAGED(&costs, GpuArray_ctc(&costs, NULL, &activations, &labels, &lengths));
  GpuArray_clear(&activations);
  GpuArray_clear(&labels);
  GpuArray_clear(&lengths);
  GpuArray_clear(&costs);
  REFUSES_DAMAGED(&x, GpuArray_conv(&y, &x, &w, &c));
  REFUSES_DAMAGED(&w, GpuArray_conv(&y, &x, &w, &c));
  REFUSES_DAMAGED(&y, GpuArray_conv(&y, &x, &w, &c));
  GpuArray_clear(&x);
  GpuArray_clear(&w);
  GpuArray_clear(&y);
}

static void test_sparse_matrices(void) {
  const size_t n = 4, pointers = 5;
  GpuArray values, indices, indptr, counts, y;
  GpuSparse made, m;
  int flags;
  CHECK_OK(GpuArray_zeros(&values, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&indices, ctx, GA_INT, 1, &n, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&indptr, ctx, GA_INT, 1, &pointers, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&counts, ctx, GA_LONG, 1, &pointers, GA_C_ORDER));
  CHECK_OK(GpuSparse_set(&m, GA_SPARSE_CSR, 4, 4, &values, &indices, &indptr));
  REFUSES(GpuSparse_set(P(&made), GA_SPARSE_CSR, 4, 4, P(&values), P(&indices),
                        P(&indptr)));
  REFUSES(GpuSparse_empty(P(&made), P(ctx), 0, 4, 4, 1, GA_FLOAT, GA_INT));
  REFUSES(GpuSparse_view(P(&made), P(&m)));
  REFUSES(GpuSparse_transpose(P(&made), P(&m)));
  REFUSES(GpuSparse_check(&flags, P(&m)));
  REFUSES(GpuSparse_convert(P(&made), P(&m), GA_SPARSE_COO));
  REFUSES(GpuSparse_sort(P(&made), P(&m)));
  REFUSES(GpuSparse_to_dense(P(&out), P(&m), GA_C_ORDER));
  REFUSES(GpuSparse_from_dense(P(&made), P(&a), GA_SPARSE_CSR, GA_INT));
  REFUSES(GpuSparse_matmul(P(&y), P(&m), P(&values), NULL, NULL));
  REFUSES(GpuSparse_rmatmul(P(&y), P(&values), P(&m), NULL, NULL));
  REFUSES(GpuSparse_sum(P(&y), P(&m), 0));
  REFUSES(GpuSparse_max(P(&y), P(&m), 0));
  REFUSES(GpuSparse_min(P(&y), P(&m), 0));
  REFUSES(GpuSparse_diagonal(P(&y), P(&m), 0));
  REFUSES(GpuSparse_sddmm(P(&y), P(&m), P(&a), P(&b), NULL, NULL));
  REFUSES(GpuSparse_sample(P(&out), P(&m), P(&a)));
  REFUSES(GpuSparse_solve(P(&y), P(&m), 0));
  REFUSES(GpuSparse_sum_duplicates(P(&made), P(&m)));
  REFUSES(GpuSparse_keep(P(&made), P(&m), NULL));
  REFUSES(GpuSparse_keep_count(P(&out), P(&m), P(&y)));
  REFUSES(GpuSparse_keep_fill(P(&made), P(&m), P(&y), 1));
  REFUSES(GpuSparse_unique_count(P(&out), P(&m)));
  REFUSES(GpuSparse_unique_fill(P(&made), P(&m), P(&indptr), 4));
  REFUSES(GpuSparse_add(P(&made), P(&m), P(&m), NULL, NULL));
  REFUSES(GpuSparse_multiply(P(&made), P(&m), P(&m)));
  REFUSES(GpuSparse_combine(P(&made), P(&m), P(&m), GA_SPARSE_MAXIMUM));
  REFUSES(GpuSparse_match(P(&out), P(&m), P(&m)));
  REFUSES(GpuSparse_add_fill(P(&made), P(&m), P(&m), NULL, NULL, P(&indptr), 4));
  REFUSES(GpuSparse_multiply_fill(P(&made), P(&m), P(&m), P(&indptr), 4));
  REFUSES(GpuSparse_take(P(&made), P(&m), P(&indices), 0));
  REFUSES(GpuSparse_take_count(P(&out), P(&m), P(&indices), 0));
  REFUSES(GpuSparse_take_fill(P(&made), P(&m), P(&indices), 0, P(&counts), 4));
  REFUSES(GpuSparse_spgemm(P(&made), P(&m), P(&m)));
  REFUSES(GpuSparse_spgemm_count(P(&out), P(&m), P(&m)));
  REFUSES(GpuSparse_spgemm_fill(P(&made), P(&m), P(&m), P(&counts), 4));
  GpuSparse_clear(NULL);
  GpuSparse_clear(&m);
  GpuArray *all[] = {&values, &indices, &indptr, &counts, &y};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

static void test_pooling(void) {
  const size_t whole[2] = {4, 4}, ones[2] = {1, 1};
  size_t shape[2];
  GpuArray result, v;
  gpupool p;
  gpupool_init(&p, 2, GA_POOL_MAX, whole);
  CHECK_OK(GpuArray_zeros(&result, ctx, GA_FLOAT, 2, ones, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&v, ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  REFUSES(gpupool_shape(P(shape), P(&p), P(dims)));
  REFUSES(GpuArray_pool(P(&result), P(&a), P(&p)));
  REFUSES(GpuArray_pool_grad(P(&b), P(&a), P(&result), P(&result), P(&p)));
  p.flags = GA_POOL_SHARED;
  REFUSES(GpuArray_pool_grad(P(&b), P(&a), P(&result), P(&result), P(&p)));
  p.flags = 0;
  REFUSES(GpuArray_pool_at_maxima(P(&result), P(&a), P(&result), P(&v), P(&p)));
  REFUSES(GpuArray_pool_at_first(P(&result), P(&a), P(&v), P(&p)));
  gpupool_init(NULL, 2, GA_POOL_MAX, whole);
  GpuArray_clear(&result);
  GpuArray_clear(&v);
}

static void test_batch_normalisation(void) {
  const size_t shape[2] = {2, 3}, row[1] = {3};
  GpuArray x, gamma, mean, deviation, variance;
  gpubatchnorm n;
  gpubatchnorm_init(&n, 2, 1);
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 2, shape, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&gamma, ctx, GA_FLOAT, 1, row, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&mean, ctx, GA_FLOAT, 1, row, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&deviation, ctx, GA_FLOAT, 1, row, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&variance, ctx, GA_FLOAT, 1, row, GA_C_ORDER));
  REFUSES(GpuArray_batch_norm_train(P(&x), NULL, NULL, P(&mean), P(&variance), P(&x),
                                    P(&gamma), P(&gamma), P(&n)));
  REFUSES(GpuArray_batch_norm(P(&x), P(&x), P(&gamma), P(&gamma), P(&mean),
                              P(&variance), P(&n)));
  REFUSES(GpuArray_batch_norm_grad(&x, NULL, NULL, P(&x), P(&x), P(&gamma), P(&mean),
                                   P(&deviation), P(&n)));
  REFUSES_DAMAGED(&deviation, GpuArray_batch_norm_train(&x, &mean, &deviation, NULL,
                                                        NULL, &x, &gamma, &gamma, &n));
  GpuArray *all[] = {&x, &gamma, &mean, &deviation, &variance};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
}

static void test_sampling(void) {
  const size_t small[4] = {1, 1, 2, 2}, matrices[3] = {1, 2, 3};
  size_t shape[2];
  GpuArray x, y, grid, theta;
  gpuupsampling u;
  gpuupsampling_init(&u, 1, 1);
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 4, small, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 4, small, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&grid, ctx, GA_FLOAT, 4, small, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&theta, ctx, GA_FLOAT, 3, matrices, GA_C_ORDER));
  REFUSES(gpuupsampling_shape(P(shape), P(&u), P(small)));
  REFUSES(GpuArray_upsample(P(&y), P(&x), P(&u)));
  REFUSES(GpuArray_upsample_grad(P(&y), P(&x), P(&u)));
  REFUSES(GpuArray_affine_grid(P(&grid), P(&theta)));
  REFUSES(GpuArray_affine_grid_grad(P(&theta), P(&grid)));
  REFUSES(GpuArray_grid_sample(P(&y), P(&x), P(&grid)));
  REFUSES(GpuArray_grid_sample_grad_images(P(&y), P(&grid), P(&x)));
  REFUSES(GpuArray_grid_sample_grad_grid(P(&theta), P(&x), P(&grid), P(&y)));
  REFUSES_DAMAGED(&grid, GpuArray_grid_sample(&y, &x, &grid));
  REFUSES_DAMAGED(&x, GpuArray_grid_sample_grad_images(&x, &grid, &y));
  REFUSES_DAMAGED(&y, GpuArray_upsample(&y, &x, &u));
  GpuArray_clear(&x), GpuArray_clear(&y), GpuArray_clear(&grid), GpuArray_clear(&theta);
}

static void test_expressions(void) {
  gpuelemwise_arg args[2] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  gpuelemwise_arg three[3] = {
      {"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}, {"z", GA_FLOAT, GE_READ}};
  gpuelemwise_arg nameless[2] = {{"y", GA_FLOAT, GE_WRITE}, {NULL, GA_FLOAT, GE_READ}};
  GpuElemwise *ge = NULL, *sum = NULL, *made = NULL;
  GpuArray *outs[1] = {&out}, *no_outs[1] = {NULL};
  void *ins[1] = {&a}, *list[2] = {&b, &a}, *lacking[2] = {&b, NULL},
       *no_ins[1] = {NULL};
  CHECK_OK(GpuElemwise_create(&ge, ctx, NULL, "y = x", 2, args, 0));
  CHECK_OK(GpuElemwise_create(&sum, ctx, NULL, "y = x + z", 3, three, 0));
  REFUSES(GpuElemwise_create(P(&made), P(ctx), NULL, P("y = x"), 2, P(args), 0));
  REFUSES(GpuElemwise_create(&made, ctx, NULL, "y = x", 2, EITHER(nameless, args), 0));
  CHECK(made == NULL);
  CHECK(GpuElemwise_new(NULL, NULL, "y = x", 2, args, 1, 0) == NULL);
  CHECK(GpuElemwise_new(ctx, NULL, NULL, 2, args, 1, 0) == NULL);
  CHECK(GpuElemwise_new(ctx, NULL, "y = x", 2, NULL, 1, 0) == NULL);
  REFUSES(GpuElemwise_call(P(ge), P(list), 0));
  REFUSES(GpuElemwise_call(ge, EITHER(lacking, list), 0));
  REFUSES_DAMAGED(&a, GpuElemwise_call(ge, list, 0));
  REFUSES_DAMAGED(&b, GpuElemwise_call(ge, list, GE_BROADCAST | GE_PADSHAPE));
  REFUSES_DAMAGED(&a, GpuElemwise_apply(ge, outs, ins));
  REFUSES(GpuElemwise_apply(P(ge), P(outs), P(ins)));
  REFUSES(GpuElemwise_apply(ge, EITHER(no_outs, outs), ins));
  REFUSES(GpuElemwise_apply(ge, outs, EITHER(no_ins, ins)));
  REFUSES(GpuElemwise_apply1(P(ge), P(&out), P(&a)));
  REFUSES(GpuElemwise_apply2(P(sum), P(&out), P(&a), P(&b)));
  GpuElemwise_free(ge);
  GpuElemwise_free(sum);
}

static void test_reductions_and_scans(void) {
  gpuelemwise_arg input[1] = {{"x", GA_FLOAT, GE_READ}};
  gpureduction_spec spec = float_sum(input);
  gpuscan_spec scan = {sizeof scan, NULL,     "x",      "a + b",
                       "0",         GA_FLOAT, GA_FLOAT, {"x", GA_FLOAT, GE_READ}};
  void *ins[1] = {&a}, *lacking[1] = {NULL};
  GpuReduction *gr = GpuReduction_new(ctx, &spec, &ret);
  GpuScan *gs = GpuScan_new(ctx, &scan, &ret);
  REFUSES(STATUS_OF(GpuReduction_new(P(ctx), P(&spec), &ret)));
  REFUSES(
      STATUS_OF(GpuReduction_extremum(P(ctx), GA_FLOAT, 0, GA_EXTREMUM_BOTH, &ret)));
  REFUSES(GpuReduction_apply(P(gr), P(&out), P(ins), 1, 0));
  REFUSES(GpuReduction_apply(gr, &out, EITHER(lacking, ins), 1, 0));
  REFUSES_DAMAGED(&a, GpuReduction_apply(gr, &out, ins, 1, 0));
  REFUSES(STATUS_OF(GpuScan_new(P(ctx), P(&scan), &ret)));
  REFUSES(GpuScan_call(P(gs), P(&b), P(&a), 0, 0));
  CHECK(GpuReduction_new(NULL, &spec, NULL) == NULL);
  CHECK(GpuReduction_extremum(NULL, GA_FLOAT, 0, 3, NULL) == NULL);
  CHECK(GpuScan_new(NULL, &scan, NULL) == NULL);
  gpureduction_spec without[4] = {spec, spec, spec, spec};
  without[0].map = without[1].combine = without[2].identity = NULL;
  without[3].inputs = NULL;
  for (int i = 0; i < 4; i++)
    CHECK_STATUS(GA_VALUE_ERROR, STATUS_OF(GpuReduction_new(ctx, &without[i], &ret)));
  gpuscan_spec lacks[4] = {scan, scan, scan, scan};
  lacks[0].map = lacks[1].combine = lacks[2].identity = lacks[3].input.name = NULL;
  for (int i = 0; i < 4; i++)
    CHECK_STATUS(GA_VALUE_ERROR, STATUS_OF(GpuScan_new(ctx, &lacks[i], &ret)));
  GpuReduction_free(gr);
  GpuScan_free(gs);
}

static void test_random_numbers(void) {
  gpurandom g;
  gpurandom_init(&g, 1, 2);
  REFUSES(GpuArray_random_bits(P(&positions), P(&g)));
  REFUSES(GpuArray_random_uniform(P(&a), P(&g), 0, 1));
  REFUSES(GpuArray_random_normal(P(&a), P(&g), 0, 1));
  REFUSES(GpuArray_random_exponential(P(&a), P(&g), 1));
  REFUSES(GpuArray_random_integers(P(&positions), P(&g), 0, 5));
  REFUSES(GpuArray_random_bernoulli(P(&mask), P(&g), 0.5));
  const double values[2] = {0, 1};
  uint64_t counts;
  size_t size = 0;
  REFUSES(GpuArray_random_draw(P(&a), P(&g), P("normal"), 2, P(values), NULL));
  REFUSES(gpurandom_counts(P(&counts), P("normal"), GA_FLOAT, 3));
  REFUSES(gpurandom_device_code(NULL, P(&size), P("normal"), GA_FLOAT));
  CHECK(gpurandom_table(0) != NULL && gpurandom_table(1000) == NULL);
  CHECK(g.position == 0);
}

static void test_tensors(void) {
  DLManagedTensorVersioned *t = NULL, *given = NULL;
  DLManagedTensor *old = NULL, *given_old = NULL;
  DLDevice device;
  CHECK_OK(GpuArray_to_dlpack(&given, &a, -1));
  CHECK_OK(GpuArray_to_dlpack_unversioned(&given_old, &a, -1));
  REFUSES(GpuArray_to_dlpack(P(&t), P(&a), -1));
  REFUSES(GpuArray_to_dlpack_unversioned(P(&old), P(&a), -1));
  REFUSES(GpuArray_to_dlpack_host(P(&t), P(&a)));
  REFUSES(GpuArray_to_dlpack_host_unversioned(P(&old), P(&a)));
  REFUSES(GpuArray_dlpack_device(P(&device), P(&a)));
  REFUSES(GpuArray_from_dlpack(P(&out), P(ctx), P(given), -1));
  REFUSES(GpuArray_from_dlpack_unversioned(P(&out), P(ctx), P(given_old), -1));
  CHECK(t == NULL && old == NULL);
  given->deleter(given);
  given_old->deleter(given_old);
}

int main(int argc, char **argv) {
  (void)argc;
  open_untouched();
  make_arrays();
  test_sparse_matrices();
  test_layers();
  test_pooling();
  test_batch_normalisation();
  test_sampling();
  test_expressions();
  test_reductions_and_scans();
  test_random_numbers();
  test_tensors();
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&positions);
  GpuArray_clear(&mask);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
