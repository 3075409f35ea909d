/* File format of plans.
 *
 * Header: the mark, the format, the body's length and hash. Body: the plan's name, its
 * values in order of their numbers, outputs, and since format 3 sections, each a number
 * and a byte string. A step stands in place of its first result, so a reader repeats
 * the calls that built the plan, and all values get their numbers again.
 * GA_STEP_ROUTINE, GA_STEP_DEVICE and GA_STEP_LOOP exist since format 5.
 *
 * Format 6 is that of plans of several contexts; others are still written in format 5.
 * Behind the plan's name it has the number of contexts and the name of each, empty for
 * a plan's own without one; GA_PLAN_ON puts the values that follow on one of them.
 *
 * Format 7 is that of plans with loops by the host, of one context or several: in their
 * bodies there are reads, and GA_PLAN_ON with the numbers of the plan's contexts.
 *
 * A plan or body with a user kernel ends with a checksum ("seal") from its first value
 * on: only the kernel knows the meaning of its arguments, so that no bounds check is
 * possible.
 *
 * Sections: compiled kernels, valid for one device and driver; bindings, which refer to
 * these kernels; a GpuFunction's names and values. A plan with GA_STEP_READ, since
 * format 4, has the bindings of each stage, as byte strings: the division into stages
 * and the numbering of their values belong to the format. */
#ifndef GA_C_PLAN_FILE_H
#define GA_C_PLAN_FILE_H

#include "c/base/hash.h"
#include "c/plan/plan_state.h"
#include "c/system/bytes.h"

#define GA_PLAN_MARK "gpuplan\n"
/* Mark of a pickle that Python alone can load; a line with the reason follows. */
#define GA_PLAN_PICKLE "gpufunc\n"
#define GA_PLAN_FORMAT 7 /* the newest of the body; readers take older ones too */
#define GA_PLAN_FORMAT_OF_SEVERAL 6 /* of a plan of several contexts */
#define GA_PLAN_FORMAT_OF_ONE 5     /* of a plan of one context */

enum ga_plan_part {
  GA_PLAN_INPUT = 1,
  GA_PLAN_CONSTANT,
  GA_PLAN_STEP,
  GA_PLAN_END,
  GA_PLAN_INT_INPUT, /* since format 2 */
  GA_PLAN_WHEN,      /* since format 3: conditions of the steps that follow */
  GA_PLAN_CONFIRM,   /* since format 4: GpuPlan_confirm */
  GA_PLAN_BODY, /* since format 5, GpuPlan_body of the step before: name, values and
                   outputs */
  GA_PLAN_ON    /* since format 6, GpuPlan_on: a context's number in the file */
};

enum ga_plan_section {
  GA_PLAN_KERNELS = 1,
  GA_PLAN_OLD_BINDINGS, /* until format 4; ignored */
  GA_PLAN_FUNCTION,
  GA_PLAN_BINDINGS, /* since format 5 */
  GA_PLAN_MORE,    /* since format 6: the kernels of contexts 1 and on, as byte strings,
                      empty where the driver returns no binaries */
  GA_PLAN_SECTIONS /* 1 + their number */
};

#define GA_PLAN_DEPTH 4          /* nesting of bodies */
#define GA_PLAN_MOST GA_MAX_ARGS /* inputs or results of a step */

/* Contexts for names, as programs give them. */
typedef struct ga_given_contexts {
  unsigned int n;
  const gpuplan_context *list;
} ga_given_contexts;

/* The contexts of a file: the place of each in the plan. */
typedef struct ga_file_places {
  const GpuPlan *plan;
  unsigned int n;
  unsigned int *list;
} ga_file_places;

/* The kernels of a plan's steps and bindings, each once. */
typedef struct ga_saved_kernels {
  gpukernel **list;
  unsigned int n;
  size_t capacity;
  bool is_ours; /* when read: compiled for this device */
} ga_saved_kernels;

/* True if a user kernel makes a checksum necessary; and the checksum. */
bool ga__plan_is_sealed(const GpuPlan *p);
ga_hash ga__plan_seal(const char *bytes, size_t size);

/* Writing, under the plan's lock; ga__plan_put takes it itself. */
int ga__plan_put(ga_strbuf *out, GpuPlan *p);
unsigned int ga__plan_format(const GpuPlan *p);
int ga__plan_write(const char *path, const GpuPlan *p, const ga_strbuf *body);
/* The names of the contexts. GA_INVALID_ERROR if two are the same. */
int ga__places_put(ga_strbuf *out, const GpuPlan *p);
void ga__put_section(ga_strbuf *out, enum ga_plan_section section,
                     const ga_strbuf *content);
/* An array with its elements; waits for these. */
int ga__put_array(ga_strbuf *out, const GpuArray *a);
/* The compiled kernels of the steps and bindings of a place. */
int ga__kernels_collect(ga_saved_kernels *kernels, const GpuPlan *p,
                        unsigned int place);
/* The kernel to save for `k`. A user's kernel is replaced by the context's kernel of
 * the same source, if any: it has its source, by which a reader finds it. */
gpukernel *ga__kernel_saved(gpukernel *k);
/* GA_DEVSUP_ERROR where the driver does not return binaries. */
int ga__kernels_put(ga_strbuf *out, const ga_saved_kernels *kernels, gpucontext *ctx);
/* `kernels` by place. */
int ga__bindings_put(ga_strbuf *out, const ga_saved_kernels *kernels, const GpuPlan *p);

int ga__plan_malformed(void);
/* Checks the contexts that a program gives. */
int ga__given_check(const char *operation, const ga_given_contexts *given);
/* Checks the header; *body gets what follows. Where only the start of a file was read,
 * and is_part says so, the body's length and hash are not looked at. */
int ga__plan_check_head(ga_reader *body, unsigned int *format, const char *bytes,
                        size_t size, bool is_part);
/* Makes a plan with the contexts of the file. The caller frees places->list, also on
 * failure. */
int ga__places_get(GpuPlan **out, ga_file_places *places, unsigned int format,
                   const ga_given_contexts *given, ga_reader *r);
/* Reads a plan, and its function section or an empty one into *function. The caller
 * frees *bytes, to which *function refers, by ga__free. */
int ga__plan_read(GpuPlan **out, ga_reader *function, char **bytes,
                  const ga_given_contexts *given, const char *path);
int ga__get_array(GpuArray *out, gpucontext *ctx, ga_reader *r);
/* Adds the kernels to the context if they are its device's; the list holds
 * references. */
int ga__kernels_get(ga_saved_kernels *kernels, gpucontext *ctx, ga_reader *r);
/* Makes the plan need them at its current place, so that it is saved with them
 * again. */
int ga__kernels_keep(GpuPlan *p, const ga_saved_kernels *kernels);
void ga__kernels_clear(ga_saved_kernels *kernels);
/* `kernels` by place; bindings of those that are another device's are left out. */
int ga__bindings_get(GpuPlan *p, const ga_saved_kernels *kernels, ga_reader *r);

#endif
