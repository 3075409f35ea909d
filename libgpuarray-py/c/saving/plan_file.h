/* What a plan's file looks like.
 *
 * A head (the mark, then format, length of the body and its hash) and a body: the
 * plan's name, its values in the order of their numbers, the outputs, and since format
 * 3 sections, each a number and its bytes. A step stands where the first value that it
 * makes would, so that reading a file makes the calls that built the plan, and values
 * get their numbers back. GA_STEP_ROUTINE, GA_STEP_DEVICE and GA_STEP_LOOP are there
 * since format 5.
 *
 * Behind the outputs of a plan or a body with a kernel of the program's own is a seal:
 * the hash of all from its first value on. What the numbers of a launch mean only the
 * kernel knows, so they, what they are computed of and its arrays belong together.
 *
 * Sections: the compiled kernels, which are of use on the device and driver that they
 * were compiled for; the bindings, which name those kernels; what a GpuFunction has
 * besides its plan. A plan with GA_STEP_READ, which there is since format 4, has the
 * bindings of each of its stages as bytes, one after another: how a plan is cut into
 * stages, and how their values are numbered, is of the format. */
#ifndef GA_C_PLAN_FILE_H
#define GA_C_PLAN_FILE_H

#include "c/base/hash.h"
#include "c/plan/plan.h"
#include "c/system/bytes.h"

#define GA_PLAN_MARK "gpuplan\n"
/* A file of Python's that no plan can be read from; a line tells why. */
#define GA_PLAN_PICKLE "gpufunc\n"
#define GA_PLAN_FORMAT 5 /* of the body; a reader takes its own and older ones */

enum ga_plan_part {
  GA_PLAN_INPUT = 1,
  GA_PLAN_CONSTANT,
  GA_PLAN_STEP,
  GA_PLAN_END,
  GA_PLAN_INT_INPUT, /* since format 2 */
  GA_PLAN_WHEN,      /* since format 3: the conditions of the steps that follow */
  GA_PLAN_CONFIRM,   /* since format 4: GpuPlan_confirm */
  GA_PLAN_BODY       /* since format 5: GpuPlan_body of the step before: its name, then
                        its values and outputs as those of the plan */
};

enum ga_plan_section {
  GA_PLAN_KERNELS = 1,
  GA_PLAN_OLD_BINDINGS, /* until format 4; passed over */
  GA_PLAN_FUNCTION,
  GA_PLAN_BINDINGS, /* since format 5 */
  GA_PLAN_SECTIONS  /* how many there are, and one */
};

#define GA_PLAN_DEPTH 4          /* bodies within bodies */
#define GA_PLAN_MOST GA_MAX_ARGS /* inputs or results of a step in a file */

/* Kernels that a file has: of its plan's steps and bindings, each once. */
typedef struct ga_saved_kernels {
  gpukernel **list;
  unsigned int n, capacity;
  bool is_ours; /* read: they are of this device */
} ga_saved_kernels;

/* Whether it launches kernels whose numbers only they understand, so that it has a
 * seal; and the seal of such a plan. */
bool ga__plan_is_sealed(const GpuPlan *p);
ga_hash ga__plan_seal(const char *bytes, size_t size);

/* Writing; the plan's lock is held but by ga__plan_put, which takes it. */
int ga__plan_put(ga_strbuf *out, GpuPlan *p);
int ga__plan_write(const char *path, const ga_strbuf *body);
void ga__put_section(ga_strbuf *out, enum ga_plan_section section,
                     const ga_strbuf *content);
/* An array with its elements; waits for them. */
int ga__put_array(ga_strbuf *out, const GpuArray *a);
/* The kernels of the steps that are compiled, and of the bindings. */
int ga__kernels_collect(ga_saved_kernels *kernels, const GpuPlan *p);
/* The kernel that a file has for `k`: of a user's kernel the context's of the same
 * text, if there is one, for that has its text with it and is found by it after
 * loading. */
gpukernel *ga__kernel_saved(gpukernel *k);
int ga__kernels_add(ga_saved_kernels *kernels, gpukernel *k);
/* GA_DEVSUP_ERROR where the driver gives no compiled program away. */
int ga__kernels_put(ga_strbuf *out, const ga_saved_kernels *kernels, gpucontext *ctx);
int ga__bindings_put(ga_strbuf *out, const ga_saved_kernels *kernels, const GpuPlan *p);

/* Reading. */
int ga__plan_malformed(void);
/* The plan of a file; *function is its section of a function, or empty. *bytes, made
 * with ga__alloc, is what it reads from. */
int ga__plan_read(GpuPlan **out, ga_reader *function, char **bytes, gpucontext *ctx,
                  const char *path);
int ga__get_array(GpuArray *out, gpucontext *ctx, ga_reader *r);
/* The context gets the kernels, if they are its device's; the list has a reference of
 * each. */
int ga__kernels_get(ga_saved_kernels *kernels, gpucontext *ctx, ga_reader *r);
/* The plan needs them from now on, so that its next file has them too. */
int ga__kernels_keep(GpuPlan *p, const ga_saved_kernels *kernels);
void ga__kernels_clear(ga_saved_kernels *kernels);
/* The plan gets the bindings. */
int ga__bindings_get(GpuPlan *p, const ga_saved_kernels *kernels, ga_reader *r);

#endif
