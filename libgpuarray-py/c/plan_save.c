/* Writes a plan to a file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "c/array.h"
#include "c/elemwise_run.h"
#include "c/hash.h"
#include "c/plan.h"
#include "c/plan_file.h"
#include "c/reduction.h"

static void put_int(ga_strbuf *out, uint64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; i++)
    bytes[i] = (char)(value >> 8 * i & 0xff);
  ga__strbuf_addn(out, bytes, sizeof bytes);
}

static void put_double(ga_strbuf *out, double value) {
  uint64_t word;
  memcpy(&word, &value, sizeof word);
  put_int(out, word);
}

/* NULL is told apart from "". */
static void put_text(ga_strbuf *out, const char *text) {
  put_int(out, text ? strlen(text) + 1 : 0);
  if (text)
    ga__strbuf_add(out, text);
}

static void put_uints(ga_strbuf *out, const unsigned int *list, unsigned int n) {
  for (unsigned int i = 0; i < n; i++)
    put_int(out, list[i]);
}

static void put_args(ga_strbuf *out, const gpuelemwise_arg *args, unsigned int n) {
  for (unsigned int i = 0; i < n; i++) {
    put_text(out, args[i].name);
    put_int(out, (uint64_t)args[i].typecode);
    put_int(out, (uint64_t)args[i].flags);
  }
}

static int put_constant(ga_strbuf *out, const GpuArray *a) {
  GpuArray copy;
  size_t size = ga__array_count(a) * gpuarray_get_elsize(a->typecode);
  char *bytes = ga__alloc(size + 1, 1);
  if (bytes == NULL)
    return GA_MEMORY_ERROR;
  int status = GpuArray_copy(&copy, a, GA_C_ORDER);
  if (status == GA_NO_ERROR) {
    status = GpuArray_read(bytes, size, &copy);
    GpuArray_clear(&copy);
  }
  if (status == GA_NO_ERROR) {
    put_int(out, (uint64_t)a->typecode);
    put_int(out, a->nd);
    for (unsigned int i = 0; i < a->nd; i++)
      put_int(out, a->dimensions[i]);
    ga__strbuf_addn(out, bytes, size);
  }
  ga__free(bytes);
  return status;
}

static void put_elemwise(ga_strbuf *out, const ga_step *s) {
  const GpuElemwise *ge = s->elemwise;
  put_text(out, ge->preamble);
  put_text(out, ge->expr);
  put_args(out, ge->args, ge->n);
  put_uints(out, s->stretch, s->n_in);
  for (unsigned int i = 0; i < s->n_out; i++)
    put_int(out, (uint64_t)(int64_t)s->inplace[i]);
}

static void put_reduce(ga_strbuf *out, const ga_step *s) {
  gpureduction_spec spec;
  ga__reduction_spec(&spec, s->reduction);
  put_int(out, s->axes);
  put_text(out, spec.preamble);
  put_text(out, spec.prologue);
  put_text(out, spec.map);
  put_text(out, spec.combine);
  put_text(out, spec.identity);
  put_int(out, (uint64_t)spec.acc_typecode);
  put_int(out, (uint64_t)spec.out_typecode);
  put_text(out, spec.epilogue);
  put_int(out, spec.flags);
  put_int(out, spec.n_components);
  for (unsigned int i = 0; i < spec.n_components; i++) {
    put_text(out, spec.components[i].map);
    put_text(out, spec.components[i].combine);
    put_text(out, spec.components[i].identity);
    put_int(out, (uint64_t)spec.components[i].typecode);
  }
  put_int(out, spec.n_results);
  for (unsigned int i = 0; i < spec.n_results; i++) {
    put_text(out, spec.results[i].epilogue);
    put_int(out, (uint64_t)spec.results[i].typecode);
  }
  put_args(out, spec.inputs, spec.n);
  put_uints(out, s->stretch, s->n_in);
}

static void put_step(ga_strbuf *out, const ga_step *s) {
  put_int(out, (uint64_t)s->kind);
  put_text(out, s->label);
  put_int(out, s->n_in);
  put_uints(out, s->ins, s->n_in);
  put_int(out, s->n_out);
  switch (s->kind) {
  case GA_STEP_INT:
    put_int(out, (uint64_t)s->integer);
    break;
  case GA_STEP_DIM:
  case GA_STEP_INT_OP:
    put_int(out, (uint64_t)s->op);
    break;
  case GA_STEP_ELEMWISE:
    put_elemwise(out, s);
    break;
  case GA_STEP_REDUCE:
    put_reduce(out, s);
    break;
  case GA_STEP_GEMV:
  case GA_STEP_GEMM:
    put_double(out, s->alpha);
    put_double(out, s->beta);
    put_int(out, (uint64_t)s->ta);
    put_int(out, (uint64_t)s->tb);
    put_int(out, s->inplace[0] >= 0);
    break;
  case GA_STEP_DIMSHUFFLE:
    put_int(out, s->nd);
    for (unsigned int i = 0; i < s->nd; i++)
      put_int(out, (uint64_t)(int64_t)s->pattern[i]);
    break;
  case GA_STEP_RESHAPE:
  case GA_STEP_BROADCAST:
  case GA_STEP_COPY:
  case GA_STEP_FUNCTION:
    break;
  }
}

/* Values in the order of their numbers; a step makes the next `n_out` of them. */
static int put_plan(ga_strbuf *out, const GpuPlan *p) {
  unsigned int step = 0;
  put_text(out, p->name);
  for (unsigned int i = 0; i < p->n_values; i++) {
    const ga_value *v = &p->values[i];
    if (v->input >= 0 && v->integer) {
      put_int(out, GA_PLAN_INT_INPUT);
    } else if (v->input >= 0) {
      put_int(out, GA_PLAN_INPUT);
      put_int(out, (uint64_t)v->typecode);
      put_int(out, v->nd);
      put_int(out, v->broadcastable);
    } else if (v->constant.data != NULL) {
      put_int(out, GA_PLAN_CONSTANT);
      GA_TRY(put_constant(out, &v->constant));
    } else if (p->steps[step].kind == GA_STEP_FUNCTION) {
      return GA_FAIL(GA_UNSUPPORTED_ERROR,
                     "plan save: step %s of %s is a function of this process, which no "
                     "file holds",
                     p->steps[step].label, p->name);
    } else {
      put_int(out, GA_PLAN_STEP);
      put_step(out, &p->steps[step]);
      i += p->steps[step++].n_out - 1;
    }
  }
  put_int(out, GA_PLAN_END);
  put_int(out, p->n_outputs);
  put_uints(out, p->outputs, p->n_outputs);
  return ga__strbuf_status(out);
}

static int system_fail(const char *what, const char *path) {
  return GA_FAIL(GA_SYS_ERROR, "plan: %s %s: %s", what, path, strerror(errno));
}

/* Under another name first, so that nobody finds half a file. */
static int write_file(const char *path, const ga_strbuf *head, const ga_strbuf *body) {
  ga_strbuf other = {0};
  ga__strbuf_addf(&other, "%s.%ld.tmp", path, (long)getpid());
  int status = ga__strbuf_status(&other);
  FILE *file = status == GA_NO_ERROR ? fopen(other.text, "wb") : NULL;
  if (status == GA_NO_ERROR && file == NULL)
    status = system_fail("cannot write", path);
  if (file != NULL) {
    bool written = fwrite(head->text, 1, head->length, file) == head->length &&
                   fwrite(body->text, 1, body->length, file) == body->length &&
                   fflush(file) == 0 && fsync(fileno(file)) == 0;
    written = fclose(file) == 0 && written && rename(other.text, path) == 0;
    if (!written) {
      status = system_fail("cannot write", path);
      unlink(other.text);
    }
  }
  ga__strbuf_clear(&other);
  return status;
}

int GpuPlan_save(GpuPlan *p, const char *path) {
  if (p == NULL || path == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "plan save: needs a plan and a path; got NULL");
  ga_strbuf head = {0}, body = {0};
  pthread_mutex_lock(&p->lock);
  int status = put_plan(&body, p);
  pthread_mutex_unlock(&p->lock);
  if (status == GA_NO_ERROR) {
    ga_hash hash = ga__hash(body.text, body.length, (ga_hash){0, 0});
    ga__strbuf_add(&head, GA_PLAN_MARK);
    put_int(&head, GA_PLAN_FORMAT);
    put_int(&head, body.length);
    put_int(&head, hash.a);
    put_int(&head, hash.b);
    status = ga__strbuf_status(&head);
  }
  if (status == GA_NO_ERROR)
    status = write_file(path, &head, &body);
  ga__strbuf_clear(&head);
  ga__strbuf_clear(&body);
  return status;
}
