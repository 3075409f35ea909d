/* Files of saved functions, and what damages them: where the library's reader takes an
 * integer, elements, a text or a block of bytes from, and changes at such places. The
 * head is made to fit again, so that damage reaches the code behind it.
 *
 * CMakeLists.txt has the linker put the __wrap_ functions between the library and its
 * reader. What is not changed is what runs as code: compiled programs, and texts of
 * kernels. */
#ifndef DAMAGE_H
#define DAMAGE_H

#include "c/base/hash.h"
#include "c/saving/plan_file.h"

#define HEAD 40 /* bytes: mark, format, length, hash */

/* An integer or double (8 bytes), elements, a text or a block (with its length word).
 */
typedef struct field {
  size_t at, size;
} field;

typedef struct fields {
  field *list;
  size_t n;
} fields;

typedef struct source {
  char *bytes;
  size_t size;
  fields words, texts, blocks;
  field bindings; /* the section, or nothing */
} source;

/* ---- where a file may be changed ---- */

static source *listed;    /* the file that is read, while its fields are listed */
static const char *start; /* of its bytes */
static bool in_code;
static size_t n_names; /* texts before the step that is read */

static void add_field(fields *f, size_t at, size_t size) {
  f->list = realloc(f->list, (f->n + 1) * sizeof *f->list);
  f->list[f->n++] = (field){at, size};
}

static void note(fields *f, const ga_reader *r, size_t size) {
  if (start != NULL && !in_code && size > 0 && size <= r->left)
    add_field(f, (size_t)(r->at - start), size);
}

#define WRAPPED(type, name, ...)                                                       \
  type __real_##name(__VA_ARGS__);                                                     \
  type __wrap_##name(__VA_ARGS__);                                                     \
  type __wrap_##name(__VA_ARGS__)

WRAPPED(const char *, ga__get, ga_reader *r, size_t size) {
  if (listed)
    note(&listed->words, r, size);
  return __real_ga__get(r, size);
}

WRAPPED(uint64_t, ga__get_int, ga_reader *r) {
  if (listed)
    note(&listed->words, r, 8);
  return __real_ga__get_int(r);
}

WRAPPED(unsigned int, ga__get_uint, ga_reader *r, unsigned int most) {
  if (listed)
    note(&listed->words, r, 8);
  return __real_ga__get_uint(r, most);
}

WRAPPED(int, ga__get_place, ga_reader *r, unsigned int end) {
  if (listed)
    note(&listed->words, r, 8);
  return __real_ga__get_place(r, end);
}

WRAPPED(double, ga__get_double, ga_reader *r) {
  if (listed)
    note(&listed->words, r, 8);
  return __real_ga__get_double(r);
}

WRAPPED(ga_reader, ga__get_bytes, ga_reader *r) {
  const ga_reader before = *r;
  ga_reader found = __real_ga__get_bytes(r);
  if (listed && !r->failed) {
    note(&listed->words, &before, 8);
    note(&listed->blocks, &before, 8 + found.left);
  }
  return found;
}

WRAPPED(const char *, ga__get_text, ga_reader *r, ga_texts *owned) {
  const ga_reader before = *r;
  const char *found = __real_ga__get_text(r, owned);
  if (listed && !r->failed)
    note(&listed->texts, &before, before.left - r->left);
  return found;
}

/* The texts since the last step are a kernel's. */
WRAPPED(int, GpuPlan_elemwise, GpuPlan *p, unsigned int *outs,
        const gpuplan_elemwise *step) {
  if (listed)
    listed->texts.n = n_names;
  return __real_GpuPlan_elemwise(p, outs, step);
}

WRAPPED(int, GpuPlan_reduce, GpuPlan *p, unsigned int *out, const char *label,
        const gpureduction_spec *spec, const unsigned int *ins,
        const unsigned int *stretch, unsigned int axes) {
  if (listed)
    listed->texts.n = n_names;
  return __real_GpuPlan_reduce(p, out, label, spec, ins, stretch, axes);
}

WRAPPED(int, GpuPlan_routine, GpuPlan *p, unsigned int *outs,
        const gpuplan_routine *step) {
  if (listed)
    n_names = listed->texts.n;
  return __real_GpuPlan_routine(p, outs, step);
}

WRAPPED(int, ga__kernels_get, ga_saved_kernels *k, gpucontext *ctx, ga_reader *r) {
  in_code = true;
  int status = __real_ga__kernels_get(k, ctx, r);
  in_code = false;
  return status;
}

WRAPPED(int, ga__bindings_get, GpuPlan *p, const ga_saved_kernels *k, ga_reader *r) {
  if (listed)
    listed->bindings = (field){(size_t)(r->at - start), r->left};
  return __real_ga__bindings_get(p, k, r);
}

WRAPPED(int, ga__file_read, const char *what, char **bytes, size_t *size,
        const char *path) {
  int status = __real_ga__file_read(what, bytes, size, path);
  start = NULL;
  if (listed && status == GA_NO_ERROR) {
    listed->bytes = malloc(*size);
    memcpy(listed->bytes, *bytes, *size);
    listed->size = *size;
    start = *bytes;
  }
  return status;
}

/* Lists the fields of the files that are loaded until it ends with NULL. */
static inline void list_fields(source *s) {
  listed = s;
  n_names = 0;
  start = NULL;
}

static inline void clear_source(source *s) {
  free(s->bytes);
  free(s->words.list);
  free(s->texts.list);
  free(s->blocks.list);
}

/* ---- changes ---- */

static uint64_t drawing;

static inline uint64_t draw(uint64_t n) {
  drawing = drawing * 6364136223846793005u + 1442695040888963407u;
  return (drawing >> 33) % n;
}

static inline const field *draw_field(const fields *f) {
  return &f->list[draw(f->n)];
}

static inline uint64_t get_word(const char *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

/* Another integer: near what it is, at an edge, small, of another field, or far. */
static inline uint64_t other_word(uint64_t word, const source *s) {
  static const uint64_t edges[] = {0,
                                   1,
                                   UINT64_MAX,
                                   INT32_MAX,
                                   (uint64_t)INT32_MAX + 1,
                                   UINT32_MAX,
                                   (uint64_t)UINT32_MAX + 1,
                                   INT64_MAX,
                                   (uint64_t)INT64_MAX + 1};
  const field *other = draw_field(&s->words);
  switch (draw(9)) {
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
    return other->size == 8 ? get_word(s->bytes + other->at) : word / 2;
  case 7:
    return (uint64_t)1 << draw(64);
  default:
    return edges[draw(sizeof edges / sizeof *edges)];
  }
}

static inline void change_words(char *bytes, const source *s, uint64_t n) {
  for (; n > 0; n--) {
    const field *f = draw_field(&s->words);
    if (f->size == 8) {
      uint64_t word = other_word(get_word(bytes + f->at), s);
      memcpy(bytes + f->at, &word, sizeof word);
    } else {
      bytes[f->at + draw(f->size)] = (char)draw(256);
    }
  }
}

/* `bytes` with another part in place of a field; lengths of the blocks around it are
 * made to fit. */
static inline char *spliced(char *bytes, const source *s, const field *f,
                            const char *part, size_t size, size_t *whole) {
  *whole = s->size - f->size + size;
  char *out = malloc(*whole);
  memcpy(out, bytes, f->at);
  memcpy(out + f->at, part, size);
  memcpy(out + f->at + size, bytes + f->at + f->size, s->size - f->at - f->size);
  for (size_t i = 0; i < s->blocks.n; i++) {
    const field *b = &s->blocks.list[i];
    if (b->at + 8 > f->at || b->at + b->size < f->at + f->size)
      continue;
    uint64_t length = get_word(out + b->at) + size - f->size;
    memcpy(out + b->at, &length, sizeof length);
  }
  free(bytes);
  return out;
}

/* From one integer to another one behind it, some fields on. */
static inline field draw_span(const source *s) {
  const size_t first = draw(s->words.n), count = draw(12);
  const size_t last = first + count < s->words.n ? first + count : s->words.n - 1;
  const size_t from = s->words.list[first].at, to = s->words.list[last].at;
  return (field){from, to > from ? to - from : 0};
}

/* A text, a block or a run of fields is replaced by one of a donor. */
static inline char *with_a_part_of(char *bytes, const source *s, const source *donor,
                                   size_t *size) {
  const uint64_t kind = draw(3);
  const fields *mine = kind == 0 ? &s->texts : &s->blocks;
  const fields *others = kind == 0 ? &donor->texts : &donor->blocks;
  if (kind == 2 || mine->n == 0 || others->n == 0) {
    const field mine_span = draw_span(s), other = draw_span(donor);
    return spliced(bytes, s, &mine_span, donor->bytes + other.at, other.size, size);
  }
  const field *f = draw_field(mine), *other = draw_field(others);
  return spliced(bytes, s, f, donor->bytes + other->at, other->size, size);
}

/* The head says that the body is as it should be. */
static inline void set_head(char *bytes, size_t size) {
  const uint64_t length = size - HEAD;
  const ga_hash hash = ga__hash(bytes + HEAD, length, (ga_hash){0, 0});
  memcpy(bytes + 16, &length, 8);
  memcpy(bytes + 24, &hash.a, 8);
  memcpy(bytes + 32, &hash.b, 8);
}

/* A damaged copy of the file, by a number alone; the caller frees it. */
static inline char *damaged(const source *s, const source *donor, uint64_t number,
                            size_t *size) {
  char *bytes = malloc(s->size);
  memcpy(bytes, s->bytes, s->size);
  *size = s->size;
  drawing = number;
  draw(2);
  const uint64_t kind = draw(4);
  if (kind > 0)
    change_words(bytes, s, 1 + draw(3) / 2);
  if (kind == 0 || draw(16) == 0)
    bytes = with_a_part_of(bytes, s, draw(2) ? donor : s, size);
  set_head(bytes, *size);
  return bytes;
}

#endif
