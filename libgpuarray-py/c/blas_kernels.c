/* The texts of our own matrix products, for GPUs and for CPUs. */
#include "c/blas_kernels.h"

#include "c/dtype.h"

/* ---- matrix by matrix ---- */

static const char gemm_head[] =
    "KERNEL void BL_NAME(\n"
    "    GLOBAL_MEM BL_T *c, ga_size c_off, GLOBAL_MEM const BL_T *GA_RESTRICT a,\n"
    "    ga_size a_off, GLOBAL_MEM const BL_T *GA_RESTRICT b, ga_size b_off,\n"
    "    ga_ssize m, ga_ssize n, ga_ssize k, ga_ssize rows, ga_ssize ai, ga_ssize ak,\n"
    "    ga_ssize bk, ga_ssize bj, ga_ssize ci, ga_ssize cj, BL_T alpha, BL_T beta) {\n"
    "  c = (GLOBAL_MEM BL_T *)((GLOBAL_MEM char *)c + c_off);\n"
    "  a = (GLOBAL_MEM const BL_T *)((GLOBAL_MEM const char *)a + a_off);\n"
    "  b = (GLOBAL_MEM const BL_T *)((GLOBAL_MEM const char *)b + b_off);\n";

/* A group of BL_LANES items makes `rows` by BL_COLUMNS elements of c; each item owns
 * BL_WIDTH columns. A panel of b is copied side by side, BL_DEPTH of its rows at a
 * time, and a strip of a where its columns are contiguous; BL_ROWS rows of a meet the
 * panel at once, in registers. Items wait for each other only where they copy for each
 * other. */
static const char gemm_cpu_begin[] =
    "#define BL_COLUMNS (BL_LANES * BL_WIDTH)\n"
    "  LOCAL_MEM BL_T panel[BL_DEPTH * BL_COLUMNS];\n"
    "  LOCAL_MEM BL_T strip[BL_DEPTH * BL_TILE];\n"
    "  LOCAL_MEM BL_T sums[BL_TILE * BL_COLUMNS];\n"
    "  const ga_ssize lane = BL_LANES > 1 ? (ga_ssize)LID_0 : 0;\n"
    "  const ga_ssize left = (ga_ssize)GID_0 * BL_COLUMNS;\n"
    "  const ga_ssize top = (ga_ssize)GID_1 * rows;\n"
    "  const ga_ssize count = rows < m - top ? rows : m - top;\n"
    "  const int full = left + BL_COLUMNS <= n;\n"
    "  const int has_strip = ai == 1 && ak != 1;\n"
    "  a += top * ai;\n"
    "  b += left * bj;\n"
    "  c += top * ci + left * cj;\n"
    "  for (ga_ssize from = 0; from == 0 || from < k; from += BL_DEPTH) {\n"
    "    const ga_ssize depth = k - from < BL_DEPTH ? k - from : BL_DEPTH;\n"
    "    if (full && bj == 1) {\n"
    "      for (ga_ssize p = 0; p < depth; p++)\n"
    "        for (int v = 0; v < BL_WIDTH; v++)\n"
    "          panel[p * BL_COLUMNS + v * BL_LANES + lane] =\n"
    "              b[p * bk + v * BL_LANES + lane];\n"
    "    } else if (bk == 1) {\n"
    "      BL_WAIT;\n"
    "      for (ga_ssize j = 0; j < BL_COLUMNS; j++) {\n"
    "        const ga_ssize inside = left + j < n ? j : n - 1 - left;\n"
    "        for (ga_ssize p = 0; p < depth; p += BL_LANES)\n"
    "          if (p + lane < depth)\n"
    "            panel[(p + lane) * BL_COLUMNS + j] = b[p + lane + inside * bj];\n"
    "      }\n"
    "      BL_WAIT;\n"
    "    } else {\n"
    "      for (int v = 0; v < BL_WIDTH; v++) {\n"
    "        const ga_ssize j = v * BL_LANES + lane;\n"
    "        for (ga_ssize p = 0; p < depth; p++)\n"
    "          panel[p * BL_COLUMNS + j] = 0;\n"
    "        if (left + j < n) {\n"
    "          if (bj == 1)\n"
    "            for (ga_ssize p = 0; p < depth; p++)\n"
    "              panel[p * BL_COLUMNS + j] = b[p * bk + j];\n"
    "          else\n"
    "            for (ga_ssize p = 0; p < depth; p++)\n"
    "              panel[p * BL_COLUMNS + j] = b[p * bk + j * bj];\n"
    "        }\n"
    "      }\n"
    "    }\n"
    "    if (has_strip) {\n"
    "      BL_WAIT;\n"
    "      for (ga_ssize p = 0; p < depth; p++)\n"
    "        for (ga_ssize i = 0; i < count; i += BL_LANES)\n"
    "          if (i + lane < count)\n"
    "            strip[p * BL_TILE + i + lane] = a[p * ak + i + lane];\n"
    "      BL_WAIT;\n"
    "    }\n"
    "    for (ga_ssize i = 0; i < count; i += BL_ROWS) {\n"
    "      BL_T acc[BL_ROWS][BL_WIDTH];\n"
    "      for (int r = 0; r < BL_ROWS; r++)\n"
    "        for (int v = 0; v < BL_WIDTH; v++) acc[r][v] = 0;\n";
static const char gemm_cpu_end[] =
    "      if (has_strip) {\n"
    "        for (ga_ssize p = 0; p < depth; p++)\n"
    "          BL_UNROLL\n"
    "          for (int r = 0; r < BL_ROWS; r++) {\n"
    "            const BL_T factor = strip[p * BL_TILE + i + r];\n"
    "            for (int v = 0; v < BL_WIDTH; v++)\n"
    "              acc[r][v] += factor * panel[p * BL_COLUMNS + v * BL_LANES + lane];\n"
    "          }\n"
    "      } else {\n"
    "        GLOBAL_MEM const BL_T *row[BL_ROWS];\n"
    "        for (int r = 0; r < BL_ROWS; r++)\n"
    "          row[r] = a + (i + r < count ? i + r : count - 1) * ai;\n"
    "        for (ga_ssize p = 0; p < depth; p++)\n"
    "          BL_UNROLL\n"
    "          for (int r = 0; r < BL_ROWS; r++) {\n"
    "            const BL_T factor = row[r][p * ak];\n"
    "            for (int v = 0; v < BL_WIDTH; v++)\n"
    "              acc[r][v] += factor * panel[p * BL_COLUMNS + v * BL_LANES + lane];\n"
    "          }\n"
    "      }\n"
    "      for (int r = 0; r < BL_ROWS; r++)\n"
    "        for (int v = 0; v < BL_WIDTH; v++) {\n"
    "          const ga_ssize at = (i + r) * BL_COLUMNS + v * BL_LANES + lane;\n"
    "          sums[at] = from > 0 ? sums[at] + acc[r][v] : acc[r][v];\n"
    "        }\n"
    "    }\n"
    "    a += BL_DEPTH * ak;\n"
    "    b += BL_DEPTH * bk;\n"
    "  }\n"
    "  for (ga_ssize i = 0; i < count; i++)\n"
    "    for (int v = 0; v < BL_WIDTH; v++) {\n"
    "      const ga_ssize j = v * BL_LANES + lane;\n"
    "      const BL_T sum = alpha * sums[i * BL_COLUMNS + j];\n"
    "      GLOBAL_MEM BL_T *to = c + i * ci;\n"
    "      if (left + j >= n) continue;\n"
    "      if (cj == 1)\n"
    "        to[j] = beta == 0 ? sum : sum + beta * to[j];\n"
    "      else\n"
    "        to[j * cj] = beta == 0 ? sum : sum + beta * to[j * cj];\n"
    "    }\n"
    "}\n"
    "#undef BL_COLUMNS\n";

/* 256 items make 64 by 64 elements of c, 4 by 4 each, 16 of k at a time through local
 * memory. A tile is loaded along the axis that is contiguous. */
static const char gemm_gpu[] =
    "  LOCAL_MEM BL_T as[16 * 65];\n"
    "  LOCAL_MEM BL_T bs[16 * 65];\n"
    "  const ga_ssize item = (ga_ssize)LID_0, x = item % 16, y = item / 16;\n"
    "  const ga_ssize left = (ga_ssize)GID_0 * 64, top = (ga_ssize)GID_1 * rows;\n"
    "  BL_T acc[4][4];\n"
    "  for (int r = 0; r < 4; r++)\n"
    "    for (int v = 0; v < 4; v++) acc[r][v] = 0;\n"
    "  for (ga_ssize from = 0; from < k; from += 16) {\n"
    "    for (int s = 0; s < 4; s++) {\n"
    "      const ga_ssize p = ak == 1 ? x : item / 64 + 4 * s;\n"
    "      const ga_ssize i = ak == 1 ? y + 16 * s : item % 64;\n"
    "      as[p * 65 + i] = top + i < m && from + p < k\n"
    "                           ? a[(top + i) * ai + (from + p) * ak] : 0;\n"
    "    }\n"
    "    for (int s = 0; s < 4; s++) {\n"
    "      const ga_ssize p = bk == 1 ? x : item / 64 + 4 * s;\n"
    "      const ga_ssize j = bk == 1 ? y + 16 * s : item % 64;\n"
    "      bs[p * 65 + j] = left + j < n && from + p < k\n"
    "                           ? b[(from + p) * bk + (left + j) * bj] : 0;\n"
    "    }\n"
    "    local_barrier();\n"
    "    for (int p = 0; p < 16; p++) {\n"
    "      BL_T left_factor[4], right_factor[4];\n"
    "      for (int r = 0; r < 4; r++) left_factor[r] = as[p * 65 + y + 16 * r];\n"
    "      for (int v = 0; v < 4; v++) right_factor[v] = bs[p * 65 + x + 16 * v];\n"
    "      for (int r = 0; r < 4; r++)\n"
    "        for (int v = 0; v < 4; v++) acc[r][v] += left_factor[r] * "
    "right_factor[v];\n"
    "    }\n"
    "    local_barrier();\n"
    "  }\n"
    "  for (int r = 0; r < 4; r++)\n"
    "    for (int v = 0; v < 4; v++) {\n"
    "      const ga_ssize i = top + y + 16 * r, j = left + x + 16 * v;\n"
    "      if (i < m && j < n) {\n"
    "        GLOBAL_MEM BL_T *to = c + i * ci + j * cj;\n"
    "        *to = beta == 0 ? alpha * acc[r][v] : alpha * acc[r][v] + beta * *to;\n"
    "      }\n"
    "    }\n"
    "}\n";

/* ---- matrix by vector ---- */

static const char gemv_head[] =
    "KERNEL void BL_NAME(\n"
    "    GLOBAL_MEM BL_T *y, ga_size y_off, GLOBAL_MEM const BL_T *GA_RESTRICT a,\n"
    "    ga_size a_off, GLOBAL_MEM const BL_T *GA_RESTRICT x, ga_size x_off,\n"
    "    ga_ssize m, ga_ssize n, ga_ssize rows, ga_ssize ai, ga_ssize aj,\n"
    "    ga_ssize xj, ga_ssize yi, BL_T alpha, BL_T beta) {\n"
    "  ga_ssize i = (ga_ssize)GID_0 * rows;\n"
    "  const ga_ssize end = i + rows < m ? i + rows : m;\n"
    "  y = (GLOBAL_MEM BL_T *)((GLOBAL_MEM char *)y + y_off);\n"
    "  a = (GLOBAL_MEM const BL_T *)((GLOBAL_MEM const char *)a + a_off);\n"
    "  x = (GLOBAL_MEM const BL_T *)((GLOBAL_MEM const char *)x + x_off);\n"
    "#define BL_STORE(at, sum)                                                  \\\n"
    "  {                                                                        \\\n"
    "    GLOBAL_MEM BL_T *to = y + (at) * yi;                                   \\\n"
    "    *to = beta == 0 ? alpha * (sum) : alpha * (sum) + beta * *to;          \\\n"
    "  }\n";

/* Where vectors are made of the loops of one item: BL_ROWS rows meet x at once,
 * BL_WIDTH of their elements side by side. */
static const char rows_loops[] =
    "  for (; i < end; i += BL_ROWS) {\n"
    "    BL_T acc[BL_ROWS][BL_WIDTH];\n"
    "    GLOBAL_MEM const BL_T *row[BL_ROWS];\n"
    "    for (int r = 0; r < BL_ROWS; r++) {\n"
    "      row[r] = a + (i + r < end ? i + r : end - 1) * ai;\n"
    "      for (int v = 0; v < BL_WIDTH; v++) acc[r][v] = 0;\n"
    "    }\n"
    "    ga_ssize j = 0;\n"
    "    if (aj == 1 && xj == 1)\n"
    "      for (; j + BL_WIDTH <= n; j += BL_WIDTH)\n"
    "        for (int r = 0; r < BL_ROWS; r++)\n"
    "          for (int v = 0; v < BL_WIDTH; v++)\n"
    "            acc[r][v] += row[r][j + v] * x[j + v];\n"
    "    for (; j < n; j++)\n"
    "      for (int r = 0; r < BL_ROWS; r++)\n"
    "        acc[r][0] += row[r][j * aj] * x[j * xj];\n"
    "    for (int r = 0; r < BL_ROWS; r++) {\n"
    "      for (int s = BL_WIDTH / 2; s > 0; s /= 2)\n"
    "        for (int v = 0; v < s; v++) acc[r][v] += acc[r][v + s];\n"
    "      if (i + r < end) BL_STORE(i + r, acc[r][0])\n"
    "    }\n"
    "  }\n"
    "}\n";

/* Where vectors are made of neighbouring items: these walk side by side along
 * BL_LANES rows, BL_ROWS at once, and then each sums what all have of one row. */
static const char rows_lanes[] =
    "  LOCAL_MEM BL_T part[BL_LANES * (BL_LANES + 1)];\n"
    "  const ga_ssize lane = (ga_ssize)LID_0;\n"
    "  for (; i < end; i += BL_LANES) {\n"
    "    for (ga_ssize q = 0; q < BL_LANES; q += BL_ROWS) {\n"
    "      BL_T acc[BL_ROWS];\n"
    "      GLOBAL_MEM const BL_T *row[BL_ROWS];\n"
    "      ga_ssize j = 0;\n"
    "      for (int r = 0; r < BL_ROWS; r++) {\n"
    "        row[r] = a + (i + q + r < end ? i + q + r : end - 1) * ai;\n"
    "        acc[r] = 0;\n"
    "      }\n"
    "      if (aj == 1 && xj == 1)\n"
    "        for (; j + BL_LANES <= n; j += BL_LANES)\n"
    "          for (int r = 0; r < BL_ROWS; r++)\n"
    "            acc[r] += row[r][j + lane] * x[j + lane];\n"
    "      for (; j < n; j += BL_LANES)\n"
    "        if (j + lane < n)\n"
    "          for (int r = 0; r < BL_ROWS; r++)\n"
    "            acc[r] += row[r][(j + lane) * aj] * x[(j + lane) * xj];\n"
    "      for (int r = 0; r < BL_ROWS; r++)\n"
    "        part[lane * (BL_LANES + 1) + q + r] = acc[r];\n"
    "    }\n"
    "    local_barrier();\n"
    "    BL_T sum = 0;\n"
    "    for (int s = 0; s < BL_LANES; s++) sum += part[s * (BL_LANES + 1) + lane];\n"
    "    if (i + lane < end) BL_STORE(i + lane, sum)\n"
    "    local_barrier();\n"
    "  }\n"
    "}\n";

/* The items of dimension 0 walk along a row, those of dimension 1 have a row each. */
static const char rows_gpu[] =
    "  LOCAL_MEM BL_T shared[256];\n"
    "  const ga_ssize lane = (ga_ssize)LID_0, lanes = (ga_ssize)LDIM_0;\n"
    "  const ga_ssize slot = (ga_ssize)LID_1, at = slot * lanes + lane;\n"
    "  GLOBAL_MEM const BL_T *row = a + (i + slot < end ? i + slot : end - 1) * ai;\n"
    "  BL_T acc[4];\n"
    "  for (int v = 0; v < 4; v++) acc[v] = 0;\n"
    "  ga_ssize j = lane;\n"
    "  for (; j + 3 * lanes < n; j += 4 * lanes)\n"
    "    for (int v = 0; v < 4; v++)\n"
    "      acc[v] += row[(j + v * lanes) * aj] * x[(j + v * lanes) * xj];\n"
    "  for (; j < n; j += lanes) acc[0] += row[j * aj] * x[j * xj];\n"
    "  shared[at] = (acc[0] + acc[1]) + (acc[2] + acc[3]);\n"
    "  local_barrier();\n"
    "  for (ga_ssize s = lanes / 2; s > 0; s /= 2) {\n"
    "    if (lane < s) shared[at] += shared[at + s];\n"
    "    local_barrier();\n"
    "  }\n"
    "  if (lane == 0 && i + slot < end) BL_STORE(i + slot, shared[at])\n"
    "}\n";

/* Each item owns BL_WIDTH results; what does not fill a tile goes in lines of one. */
static const char columns_cpu[] =
    "  const ga_ssize lane = (ga_ssize)LID_0;\n"
    "  if (ai == 1)\n"
    "    for (; i + BL_LANES * BL_WIDTH <= end; i += BL_LANES * BL_WIDTH) {\n"
    "      BL_T acc[BL_WIDTH];\n"
    "      GLOBAL_MEM const BL_T *column = a + i;\n"
    "      for (int v = 0; v < BL_WIDTH; v++) acc[v] = 0;\n"
    "      for (ga_ssize j = 0; j < n; j++) {\n"
    "        const BL_T factor = x[j * xj];\n"
    "        for (int v = 0; v < BL_WIDTH; v++)\n"
    "          acc[v] += column[v * BL_LANES + lane] * factor;\n"
    "        column += aj;\n"
    "      }\n"
    "      for (int v = 0; v < BL_WIDTH; v++)\n"
    "        BL_STORE(i + v * BL_LANES + lane, acc[v])\n"
    "    }\n"
    "  for (; i < end; i += BL_LANES)\n"
    "    if (i + lane < end) {\n"
    "      GLOBAL_MEM const BL_T *column = a + i * ai;\n"
    "      BL_T acc = 0;\n"
    "      if (ai == 1)\n"
    "        for (ga_ssize j = 0; j < n; j++) acc += column[j * aj + lane] * x[j * "
    "xj];\n"
    "      else\n"
    "        for (ga_ssize j = 0; j < n; j++)\n"
    "          acc += column[j * aj + lane * ai] * x[j * xj];\n"
    "      BL_STORE(i + lane, acc)\n"
    "    }\n"
    "}\n";

/* The items of dimension 0 own neighbouring results, those of dimension 1 share n. */
static const char columns_gpu[] =
    "  LOCAL_MEM BL_T shared[256];\n"
    "  const ga_ssize lane = (ga_ssize)LID_0, lanes = (ga_ssize)LDIM_0;\n"
    "  const ga_ssize item = (ga_ssize)LID_1, items = (ga_ssize)LDIM_1;\n"
    "  const ga_ssize at = item * lanes + lane;\n"
    "  GLOBAL_MEM const BL_T *column =\n"
    "      a + (i + lane < end ? i + lane : end - 1) * ai;\n"
    "  BL_T acc[4];\n"
    "  for (int v = 0; v < 4; v++) acc[v] = 0;\n"
    "  ga_ssize j = item;\n"
    "  for (; j + 3 * items < n; j += 4 * items)\n"
    "    for (int v = 0; v < 4; v++)\n"
    "      acc[v] += column[(j + v * items) * aj] * x[(j + v * items) * xj];\n"
    "  for (; j < n; j += items) acc[0] += column[j * aj] * x[j * xj];\n"
    "  shared[at] = (acc[0] + acc[1]) + (acc[2] + acc[3]);\n"
    "  local_barrier();\n"
    "  for (ga_ssize s = items / 2; s > 0; s /= 2) {\n"
    "    if (item < s) shared[at] += shared[at + s * lanes];\n"
    "    local_barrier();\n"
    "  }\n"
    "  if (item == 0 && i + lane < end) BL_STORE(i + lane, shared[at])\n"
    "}\n";

/* ---- the words ---- */

static const char tail[] =
    "#undef BL_NAME\n#undef BL_T\n#undef BL_LANES\n#undef BL_WIDTH\n#undef BL_ROWS\n"
    "#undef BL_DEPTH\n#undef BL_TILE\n#undef BL_STORE\n#undef BL_WAIT\n#undef "
    "BL_UNROLL\n";

#define GEMM_DEPTH 64 /* with TILE: all of a CPU's local memory is 32 KiB at most */
#define GEMM_TILE 48

ga_blas_shape ga__blas_shape(const gpucontext *ctx, enum ga_blas_kind kind,
                             int typecode) {
  const unsigned int lanes = ctx->info.warp > 0 ? ctx->info.warp : 1;
  const unsigned int loops = typecode == GA_DOUBLE ? 8 : 16; /* a vector of 64 bytes */
  if (!ctx->info.is_cpu)
    return (ga_blas_shape){.lanes = 1, .width = 1, .rows = 64};
  if (kind == GA_BLAS_GEMM)
    return (ga_blas_shape){
        .lanes = lanes, .width = lanes > 1 ? 2 : loops / 2, .rows = GEMM_TILE};
  if (kind == GA_BLAS_COLUMNS)
    return (ga_blas_shape){.lanes = lanes, .width = lanes > 1 ? 4 : 2 * loops};
  return (ga_blas_shape){
      .lanes = lanes, .width = lanes > 1 ? 1 : loops, .rows = lanes > 1 ? lanes : 4};
}

static const char *body_of(enum ga_blas_kind kind, bool cpu, unsigned int lanes) {
  if (kind == GA_BLAS_GEMM)
    return cpu ? gemm_cpu_begin : gemm_gpu;
  if (kind == GA_BLAS_COLUMNS)
    return cpu ? columns_cpu : columns_gpu;
  return !cpu ? rows_gpu : lanes > 1 ? rows_lanes : rows_loops;
}

int ga__blas_source(ga_source *out, const gpucontext *ctx, enum ga_blas_kind kind,
                    int typecode) {
  const bool cpu = ctx->info.is_cpu, gemm = kind == GA_BLAS_GEMM;
  const ga_blas_shape shape = ga__blas_shape(ctx, kind, typecode);
  static const char *const stems[] = {"gemm", "gemv_rows", "gemv_columns"};
  ga_strbuf text = {0}, body = {0};
  ga__strbuf_addf(&text,
                  "#define BL_T %s\n#define BL_LANES %u\n#define BL_WIDTH %u\n"
                  "#define BL_ROWS %d\n#define BL_DEPTH %d\n#define BL_TILE %d\n",
                  gpuarray_get_type(typecode)->cluda_name, shape.lanes, shape.width,
                  gemm ? 8 : 4, typecode == GA_DOUBLE ? GEMM_DEPTH / 2 : GEMM_DEPTH,
                  GEMM_TILE);
  /* One item alone need not wait, and some compilers fail on barriers in branches; the
   * same ones make vectors of a loop once that around it is unrolled. */
  ga__strbuf_add(&text, shape.lanes > 1
                            ? "#define BL_WAIT local_barrier()\n#define BL_UNROLL\n"
                            : "#define BL_WAIT\n"
                              "#define BL_UNROLL _Pragma(\"unroll\")\n");
  ga__strbuf_add(&text, gemm ? gemm_head : gemv_head);
  ga__strbuf_add(&text, body_of(kind, cpu, shape.lanes));
  if (gemm && cpu)
    ga__strbuf_add(&text, gemm_cpu_end);
  ga__strbuf_add(&text, tail);
  int status = ga__strbuf_status(&text);
  if (status == GA_NO_ERROR) {
    ga__kernel_name(out->name, stems[kind], text.text);
    ga__strbuf_addf(&body, "#define BL_NAME %s\n", out->name);
    ga__strbuf_add(&body, text.text);
    status = ga__strbuf_status(&body);
  }
  ga__strbuf_clear(&text);
  if (status != GA_NO_ERROR) {
    ga__strbuf_clear(&body);
    return status;
  }
  out->body = body;
  return GA_NO_ERROR;
}
