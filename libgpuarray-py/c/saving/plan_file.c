/* The start of a plan's file: header, name, and the names of its contexts. */
#include "c/saving/plan_file.h"
#include "c/plan/stages_state.h"

#include <stdio.h>
#include <string.h>

/* Bytes of a file's start, at most, that are read for the names of its contexts. */
#define MOST_OF_START ((size_t)1 << 16)

int ga__plan_malformed(void) {
  return GA_FAIL(GA_VALUE_ERROR, "plan load: the file's content is not a valid plan");
}

/* ---- header ---- */

int ga__plan_check_head(ga_reader *body, unsigned int *format, const char *bytes,
                        size_t size, bool is_part) {
  ga_reader r = {bytes, size, false};
  const size_t mark = sizeof GA_PLAN_PICKLE - 1;
  if (size > mark && memcmp(bytes, GA_PLAN_PICKLE, mark) == 0)
    return GA_FAIL(GA_VALUE_ERROR, "plan load: only Python runs this function: %.*s",
                   (int)strcspn(bytes + mark, "\n"), bytes + mark);
  const char *magic = ga__get(&r, sizeof GA_PLAN_MARK - 1);
  if (magic == NULL || memcmp(magic, GA_PLAN_MARK, sizeof GA_PLAN_MARK - 1) != 0)
    return GA_FAIL(GA_VALUE_ERROR, "plan load: the file is not a saved plan");
  const uint64_t number = ga__get_int(&r), length = ga__get_int(&r);
  ga_hash stored = {.a = ga__get_int(&r)};
  stored.b = ga__get_int(&r);
  if (!r.failed && number > GA_PLAN_FORMAT)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan load: the file has format %llu, this library reads up to %d: "
                   "use a newer library",
                   (unsigned long long)number, GA_PLAN_FORMAT);
  bool fits = !r.failed;
  if (fits && !is_part) {
    const ga_hash hash = ga__hash(r.at, r.left, (ga_hash){0, 0});
    fits = length == r.left && hash.a == stored.a && hash.b == stored.b;
  }
  if (!fits)
    return GA_FAIL(GA_VALUE_ERROR, "plan load: the file is damaged: save it again");
  *format = (unsigned int)number;
  *body = r;
  return GA_NO_ERROR;
}

unsigned int ga__plan_format(const GpuPlan *p) {
  unsigned int i = 0;
  if (ga__loops_next(p, &i) != NULL)
    return GA_PLAN_FORMAT;
  return ga__plan_places(p) > 1 ? GA_PLAN_FORMAT_OF_SEVERAL : GA_PLAN_FORMAT_OF_ONE;
}

/* ---- names of contexts ---- */

/* The name that the context has in a file; `room` holds a made one. */
static const char *name_of(const GpuPlan *p, unsigned int place, char *room) {
  const char *name = ga__plan_place_name(p, place);
  if (name != NULL)
    return name;
  if (place == 0)
    return "";
  snprintf(room, GPUPLAN_NAME, "dev%u", place);
  return room;
}

int ga__places_put(ga_strbuf *out, const GpuPlan *p) {
  char room[GPUPLAN_NAME], other_room[GPUPLAN_NAME];
  ga__put_int(out, ga__plan_places(p));
  for (unsigned int i = 0; i < ga__plan_places(p); i++) {
    const char *name = name_of(p, i, room);
    for (unsigned int k = 0; k < i; k++)
      if (strcmp(name, name_of(p, k, other_room)) == 0)
        return GA_FAIL(GA_INVALID_ERROR,
                       "plan save: contexts %u and %u of %s have the name %s: give "
                       "each one of its own by GpuPlan_name_context",
                       k, i, p->name, name);
    ga__put_text(out, name);
  }
  return GA_NO_ERROR;
}

/* The number of contexts, and their names, which `owned` keeps. In the formats of plans
 * of one context there is nothing to read. */
static int get_names(const char ***names, unsigned int *n, unsigned int format,
                     ga_reader *r, ga_texts *owned) {
  const bool has_names = format > GA_PLAN_FORMAT_OF_ONE;
  *n = has_names ? ga__get_uint(r, UINT32_MAX) : 1;
  if (r->failed || *n == 0 || *n > r->left)
    return ga__plan_malformed();
  *names = ga__alloc(*n, sizeof **names);
  GA_TRY_MEMORY(*names);
  (*names)[0] = "";
  for (unsigned int i = 0; has_names && i < *n; i++) {
    const char *name = (*names)[i] = ga__get_text(r, owned);
    if (name == NULL || strlen(name) >= GPUPLAN_NAME || (*name == '\0' && i > 0))
      return ga__plan_malformed();
  }
  return GA_NO_ERROR;
}

int ga__given_check(const char *operation, const ga_given_contexts *given) {
  for (unsigned int i = 0; i < given->n; i++) {
    if (given->list[i].context == NULL)
      return ga__fail_null(operation, "context");
    GA_TRY(ga__context_check(given->list[i].context));
  }
  return GA_NO_ERROR;
}

static gpucontext *find_given(const ga_given_contexts *given, const char *name) {
  for (unsigned int i = 0; i < given->n; i++) {
    const char *known = given->list[i].name;
    if (name == NULL ? known == NULL : known != NULL && strcmp(known, name) == 0)
      return given->list[i].context;
  }
  return NULL;
}

/* GA_VALUE_ERROR that names the contexts of the file. */
static int fail_missing(const char *const *names, unsigned int n, unsigned int place) {
  ga_strbuf list = {0};
  if (n == 1)
    return GA_FAIL(GA_VALUE_ERROR, "plan load: the file names no context: give the one "
                                   "for it without a name");
  for (unsigned int i = 0; i < n; i++)
    ga__strbuf_addf(&list, "%s%s", i > 0 ? ", " : "",
                    *names[i] ? names[i] : "its own without a name");
  int status = ga__strbuf_status(&list);
  if (status == GA_NO_ERROR)
    status = GA_FAIL(GA_VALUE_ERROR,
                     "plan load: the file is of %u contexts (%s), and none is given "
                     "for %s: give one for each name by GpuPlan_load_on or "
                     "GpuFunction_load_on; several names may have the same one",
                     n, list.text, *names[place] ? names[place] : "its own");
  ga__strbuf_clear(&list);
  return status;
}

static int make_plan(GpuPlan **out, ga_file_places *places, const char *name,
                     const char *const *names, unsigned int n,
                     const ga_given_contexts *given) {
  places->list = ga__alloc(n, sizeof *places->list);
  GA_TRY_MEMORY(places->list);
  places->n = n;
  for (unsigned int i = 0; i < n; i++) {
    gpucontext *ctx = find_given(given, names[i]);
    if (ctx == NULL && i == 0)
      ctx = find_given(given, NULL);
    if (ctx == NULL)
      return fail_missing(names, n, i);
    if (i == 0)
      GA_TRY(GpuPlan_new(out, ctx, name));
    places->plan = *out;
    GA_TRY(GpuPlan_add_context(*out, &places->list[i], ctx));
    if (*names[i] && ga__plan_place_name(*out, places->list[i]) == NULL)
      GA_TRY(GpuPlan_name_context(*out, places->list[i], names[i]));
  }
  return GA_NO_ERROR;
}

int ga__places_get(GpuPlan **out, ga_file_places *places, unsigned int format,
                   const ga_given_contexts *given, ga_reader *r) {
  ga_texts owned = {0};
  const char **names = NULL;
  GpuPlan *p = NULL;
  unsigned int n = 0;
  const char *name = ga__get_text(r, &owned);
  int status = name ? get_names(&names, &n, format, r, &owned) : ga__plan_malformed();
  GA_THEN(status, make_plan(&p, places, name, names, n, given));
  ga__texts_clear(&owned);
  ga__free((void *)names);
  if (status == GA_NO_ERROR)
    *out = p;
  else
    GpuPlan_free(p);
  return status;
}

/* ---- what a file names ---- */

static int find_name(char *name, unsigned int *n, unsigned int place, const char *bytes,
                     size_t size) {
  ga_texts owned = {0};
  const char **names = NULL;
  unsigned int format = 0, count = 0;
  ga_reader r;
  GA_TRY(ga__plan_check_head(&r, &format, bytes, size, true));
  int status = ga__get_text(&r, &owned) ? GA_NO_ERROR : ga__plan_malformed();
  GA_THEN(status, get_names(&names, &count, format, &r, &owned));
  if (status == GA_NO_ERROR && place >= count)
    status =
        GA_FAIL(GA_INVALID_ERROR,
                "plan load: context %u does not exist; the file has %u", place, count);
  if (status == GA_NO_ERROR) {
    snprintf(name, GPUPLAN_NAME, "%s", names[place]);
    *n = count;
  }
  ga__texts_clear(&owned);
  ga__free((void *)names);
  return status;
}

int GpuPlan_file_context(const char *path, unsigned int place, char *name,
                         unsigned int *n) {
  char *bytes = NULL;
  size_t size = 0;
  if (path == NULL || name == NULL || n == NULL)
    return ga__fail_null("plan load", path == NULL   ? "path"
                                      : name == NULL ? "name"
                                                     : "place for the number");
  GA_TRY(ga__file_read("plan", &bytes, &size, path, MOST_OF_START));
  int status = find_name(name, n, place, bytes, size);
  ga__free(bytes);
  return status == GA_NO_ERROR ? status : ga__fail_within(status, "%s", path);
}
