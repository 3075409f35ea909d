/* Bounds checks and checksums of a file's bindings. */
#include "c/saving/plan_bindings.h"

#include "c/array/array.h"
#include "c/base/counts.h"
#include "c/blas/blas_kernels.h"

bool ga__plan_needs_bindings(const GpuPlan *p) {
  for (unsigned int i = 0; i < p->graph.n_steps; i++)
    if (p->graph.steps[i].kind == GA_STEP_FUNCTION)
      return true;
  return false;
}

/* ---- extents of buffers ---- */

/* Adds count * step to *sum; false on overflow. */
static bool add_span(size_t *sum, size_t count, size_t step) {
  size_t span;
  return !__builtin_mul_overflow(count, step, &span) &&
         !__builtin_add_overflow(*sum, span, sum);
}

/* Bytes from the slot's base to the end of the array's elements. The words are those of
 * write_layout (plan_replay.c). */
static bool layout_reach(size_t *reach, const uint64_t *words, unsigned int nd,
                         size_t itemsize) {
  const size_t within = words[0] % GA_PLAN_ALIGNMENT;
  size_t before = 0, behind = itemsize;
  *reach = 0;
  for (unsigned int k = 0; k < nd; k++) {
    const size_t length = words[2 + 2 * k];
    const ssize_t stride = (ssize_t)words[3 + 2 * k];
    if (length == 0)
      return true;
    if (!add_span(stride < 0 ? &before : &behind, length - 1, ga__magnitude(stride)))
      return false;
  }
  /* Offset of the first element: the array's own where the slot is fixed, else relative
   * to the aligned address before all elements. */
  const bool fixed = words[1] > 0;
  const size_t start = fixed
                           ? words[1] - 1
                           : (within + GA_PLAN_ALIGNMENT - before % GA_PLAN_ALIGNMENT) %
                                     GA_PLAN_ALIGNMENT +
                                 before;
  return before <= start && !__builtin_add_overflow(start, behind, reach);
}

static const ga_value *slot_value(const GpuPlan *p, unsigned int i) {
  return &p->graph.values[i < p->graph.n_inputs ? p->graph.inputs[i]
                                                : p->views.list[i - p->graph.n_inputs]];
}

static bool is_hidden(const GpuPlan *p, unsigned int i) {
  return i < p->graph.n_inputs && p->views.hidden != NULL && p->views.hidden[i];
}

int ga__binding_reach(size_t *reach, const GpuPlan *p, const uint64_t *signature) {
  const unsigned int n = p->graph.n_inputs + p->views.n;
  size_t n_words = 0;
  for (unsigned int i = 0; i < n; i++)
    n_words += is_hidden(p, i) ? 0 : ga__layout_words(slot_value(p, i)->nd);
  const uint64_t *words = signature + p->signature.length - n_words;
  for (unsigned int i = 0; i < n; i++) {
    const ga_value *v = slot_value(p, i);
    reach[i] = 0;
    if (is_hidden(p, i))
      continue;
    if (!layout_reach(&reach[i], words, v->nd, gpuarray_get_elsize(v->typecode)))
      return ga__plan_malformed();
    words += ga__layout_words(v->nd);
  }
  return GA_NO_ERROR;
}

size_t ga__binding_size(const gpudata *buffer, const size_t *reach) {
  const slot *s = (const slot *)buffer;
  return buffer->tape != NULL && s->input ? reach[ga__tape_slot(buffer)] : buffer->size;
}

static bool has_bytes(const gpudata *buffer, const size_t *reach, size_t offset,
                      size_t size) {
  size_t end;
  return !__builtin_add_overflow(offset, size, &end) &&
         end <= ga__binding_size(buffer, reach);
}

/* ---- commands ---- */

bool ga__transfer_fits(const transfer *t, const size_t *reach) {
  return has_bytes(t->to, reach, t->to_offset, t->size) &&
         (t->from == NULL || has_bytes(t->from, reach, t->from_offset, t->size));
}

/* True if a batch of `columns` x `rows` elements is within the operand's buffer. */
static bool operand_fits(const ga_blas_operand *o, size_t rows, size_t columns,
                         size_t batch, size_t itemsize, const size_t *reach) {
  size_t before = 0, behind = 1, low, high;
  if (o->ld == 0 || o->offset % itemsize != 0 || !add_span(&behind, 1, rows - 1) ||
      !add_span(o->ld < 0 ? &before : &behind, columns - 1, ga__magnitude(o->ld)) ||
      !add_span(o->step < 0 ? &before : &behind, batch - 1, ga__magnitude(o->step)))
    return false;
  return !__builtin_mul_overflow(before, itemsize, &low) && low <= o->offset &&
         !__builtin_mul_overflow(behind, itemsize, &high) &&
         has_bytes(o->buffer, reach, o->offset, high);
}

/* The same for a column-major matrix, whose columns must not overlap. */
static bool matrix_fits(const ga_blas_operand *o, cb_transpose t, size_t rows,
                        size_t columns, size_t batch, size_t itemsize,
                        const size_t *reach) {
  const bool flips = t != cb_no_trans;
  const size_t height = flips ? columns : rows, width = flips ? rows : columns;
  return o->ld > 0 && (size_t)o->ld >= height &&
         operand_fits(o, height, width, batch, itemsize, reach);
}

bool ga__product_fits(const ga_blas_call *c, const size_t *reach) {
  if (ga__blas_type_index(c->typecode) < 0 || c->m == 0 || c->n == 0 || c->k == 0 ||
      c->batch == 0)
    return false;
  const size_t itemsize = gpuarray_get_elsize(c->typecode);
  const bool flips = c->ta != cb_no_trans;
  if (c->epilogue != GA_BLAS_PLAIN &&
      (c->bias.buffer == NULL || c->bias.ld != 1 ||
       !operand_fits(&c->bias, c->m, 1, 1, itemsize, reach)))
    return false;
  if (c->routine == GA_BLAS_GEMV)
    return matrix_fits(&c->a, cb_no_trans, c->m, c->n, 1, itemsize, reach) &&
           operand_fits(&c->b, 1, flips ? c->m : c->n, 1, itemsize, reach) &&
           operand_fits(&c->c, 1, flips ? c->n : c->m, 1, itemsize, reach);
  return matrix_fits(&c->a, c->ta, c->m, c->k, c->batch, itemsize, reach) &&
         matrix_fits(&c->b, c->tb, c->k, c->n, c->batch, itemsize, reach) &&
         matrix_fits(&c->c, cb_no_trans, c->m, c->n, c->batch, itemsize, reach);
}

/* Commands depend on each other: a kernel may trust indices that an earlier one wrote.
 * So they are valid only all together. */
ga_hash ga__binding_seal(const char *bytes, size_t size) {
  return ga__hash(bytes, size, (ga_hash){GA_PLAN_BINDINGS, size});
}

/* Only the kernel knows the meaning of its arguments, so no bounds check is possible:
 * the checksum shows that they are as recorded. */
int ga__launch_seal(ga_hash *seal, const gpukernel *k, const ga_launch *l,
                    const size_t *sizes) {
  ga_strbuf text = {0};
  ga__put_text(&text, k->name);
  ga__put_text(&text, ga__kernel_body(k));
  ga__put_int(&text, l->shared);
  for (unsigned int i = 0; i < l->nd; i++) {
    ga__put_int(&text, l->grid[i]);
    ga__put_int(&text, l->block[i]);
  }
  for (unsigned int i = 0; i < l->n_args; i++) {
    const ga_arg *a = &l->args[i];
    ga__put_int(&text, (uint64_t)a->kind);
    ga__put_int(&text, sizes[i]);
    if (a->kind == GA_ARG_OFFSET ||
        (a->kind == GA_ARG_VALUE && !ga__arg_is_site(l->args, i)))
      ga__put_bytes(&text, a->value.bytes, a->size);
  }
  int status = ga__strbuf_status(&text);
  if (status == GA_NO_ERROR)
    *seal = ga__hash(text.text, text.length, (ga_hash){0, 0});
  ga__strbuf_clear(&text);
  return status;
}

bool ga__output_fits(const GpuArray *a, const ga_value *v, const size_t *reach) {
  const size_t itemsize = gpuarray_get_elsize(a->typecode);
  size_t before = 0, behind = itemsize, count;
  if (a->typecode != v->typecode || a->nd != v->nd ||
      ga__shape_count(&count, a->nd, a->dimensions) != GA_NO_ERROR)
    return false;
  for (unsigned int i = 0; i < a->nd; i++) {
    if (a->dimensions[i] == 0)
      return true;
    if (!add_span(a->strides[i] < 0 ? &before : &behind, a->dimensions[i] - 1,
                  ga__magnitude(a->strides[i])))
      return false;
  }
  return before <= a->offset && has_bytes(a->data, reach, a->offset, behind);
}
