/* GpuPlan: a compiled function. Steps over values, built once, run many times.
 *
 * A value is a number: an array, or a host integer that shapes depend on. Steps are
 * added in the order they run. The first run with a new signature (shapes, strides,
 * alignment) binds the plan: every size, launch and reuse of memory is settled and
 * kept; later runs only replay it. Binding compiles no kernel that GpuPlan_prepare has
 * compiled. Ownership: the plan owns what it was given copies of; a run gives new
 * arrays to the caller. Waiting: a run queues work and waits only at GpuPlan_read, if
 * at all, and at its end after GpuPlan_confirm; binding and GpuPlan_prepare compile.
 * Failure: a status, with outputs untouched and the plan as it was; a step's failure
 * names its label. Threads: runs of one plan are serialised; different plans run at
 * once. */
#ifndef GPUARRAY_PLAN_H
#define GPUARRAY_PLAN_H

#include <gpuarray/blas.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/reduction.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
typedef struct _GpuPlan GpuPlan;

enum gpuplan_int_op {
  GP_INT_ADD = 0,
  GP_INT_SUB = 1,
  GP_INT_MUL = 2,
  GP_INT_FLOORDIV = 3,
  GP_INT_MAX = 4,
  GP_INT_MIN = 5,
  GP_INT_MOD = 6, /* of the divisor's sign */
  GP_INT_LT = 7,  /* 1 or 0 */
  GP_INT_LE = 8,
  GP_INT_EQ = 9,
  GP_INT_AND = 10, /* bit by bit */
  GP_INT_OR = 11,
  GP_INT_CAST = 12 /* the first as the integer type whose typecode the second is */
};

/* What devices differ in. */
enum gpuplan_device {
  GP_DEVICE_IS_PROCESSOR = 0, /* 1 or 0 */
  GP_DEVICE_PROCESSORS = 1    /* its multiprocessors, or cores */
};

/* `name` is for messages. The caller owns *res. */
int GpuPlan_new(GpuPlan **res, gpucontext *ctx, const char *name);
/* Frees the plan and what its bindings keep. NULL is fine. */
void GpuPlan_free(GpuPlan *p);

/* Values. `broadcastable` has a bit for each axis whose length is known to be 1: such
 * an axis stretches in elementwise steps, others must match. */
int GpuPlan_input(GpuPlan *p, unsigned int *value, int typecode, unsigned int nd,
                  unsigned int broadcastable);
/* A host integer that each run is given. A plan is bound anew for each set of those
 * that more depends on than views of inputs. */
int GpuPlan_int_input(GpuPlan *p, unsigned int *value);
/* A value that is always this array, of which the plan holds a reference. No step and
 * no result takes its memory: as a result it is a copy. */
int GpuPlan_constant(GpuPlan *p, unsigned int *value, const GpuArray *a);
/* A host integer that is always `x`. */
int GpuPlan_int(GpuPlan *p, unsigned int *value, long long x);
/* A property of the plan's device (enum gpuplan_device) as a host integer; of a plan
 * from a file, of the device that it was loaded on. */
int GpuPlan_device(GpuPlan *p, unsigned int *value, int property);
/* The length of an axis of an array, as a host integer. */
int GpuPlan_dim(GpuPlan *p, unsigned int *value, unsigned int array, unsigned int axis);
/* A host integer made of two others; `op` is an enum gpuplan_int_op. */
int GpuPlan_int_op(GpuPlan *p, unsigned int *value, int op, unsigned int a,
                   unsigned int b);

/* Steps. `label` names the step in errors and profiles; it is copied. */

/* Elementwise: outputs outs[i] named out_args[i] (GE_WRITE), inputs ins[j] named
 * in_args[j]. A host integer may stand for a GE_SCALAR of typecode GA_LONG. inplace[i]
 * is the index of the input whose memory output i takes over, or -1; without the list
 * none does. Without `stretch` no axis stretches. */
typedef struct _gpuplan_elemwise {
  size_t size; /* sizeof(gpuplan_elemwise) */
  const char *label;
  const char *preamble;
  const char *expr;
  unsigned int n_out;
  const gpuelemwise_arg *out_args;
  const int *inplace;
  unsigned int n_in;
  const gpuelemwise_arg *in_args;
  const unsigned int *ins;
  const unsigned int
      *stretch; /* for each input: a bit for each axis that may stretch */
} gpuplan_elemwise;
/* Adds an elementwise step; everything in `step` is copied. */
int GpuPlan_elemwise(GpuPlan *p, unsigned int *outs, const gpuplan_elemwise *step);

/* A reduction of the axes set in `axes`; dimensions as GpuReduction_apply without
 * keepdims. Writes a value for each of its results. Without `stretch` no axis
 * stretches. */
int GpuPlan_reduce(GpuPlan *p, unsigned int *outs, const char *label,
                   const gpureduction_spec *spec, const unsigned int *ins,
                   const unsigned int *stretch, unsigned int axes);
/* out = alpha op(a) b + beta c. `c` is ignored if beta is 0; with `inplace` the result
 * takes c's memory. */
int GpuPlan_gemv(GpuPlan *p, unsigned int *out, const char *label, double alpha,
                 unsigned int a, cb_transpose trans_a, unsigned int x, double beta,
                 unsigned int c, int inplace);
/* out = alpha op(a) op(b) + beta c; c and `inplace` as in GpuPlan_gemv. */
int GpuPlan_gemm(GpuPlan *p, unsigned int *out, const char *label, double alpha,
                 unsigned int a, cb_transpose trans_a, unsigned int b,
                 cb_transpose trans_b, double beta, unsigned int c, int inplace);
/* Views, as the functions of GpuArray; `dims` are host integers. */
int GpuPlan_dimshuffle(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                       unsigned int nd, const int *pattern);
/* At most one of `dims` may be a host integer of value -1. Copies where the strides
 * demand it. */
int GpuPlan_reshape(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                    unsigned int nd, const unsigned int *dims);
/* A read-only view that stretches axes of length 1 to `dims`. */
int GpuPlan_broadcast(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                      unsigned int nd, const unsigned int *dims);
/* How an index tells of an axis: by an integer, or by a slice of which the parts marked
 * by bits are integers of the plan and the others are left out. */
enum gpuplan_index {
  GP_INDEX_AT = 0,
  GP_INDEX_START = 1,
  GP_INDEX_STOP = 2,
  GP_INDEX_STEP = 4,
  GP_INDEX_SLICE = 8
};
/* A view by integers and slices of the first `n` axes, as Python counts: negative ones
 * from the end, slices as far as there are elements. form[i] is an enum gpuplan_index,
 * `ints` the host integers in order. A view of an input by integers that each run is
 * given is taken at each run: views of one layout share a binding. */
int GpuPlan_index(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                  unsigned int n, const int *form, const unsigned int *ints);
/* A new C-contiguous copy. */
int GpuPlan_copy(GpuPlan *p, unsigned int *out, const char *label, unsigned int a);

/* What a step of the caller's own gives: outs[i] of typecode and rank. */
typedef struct _gpuplan_type {
  int typecode;
  unsigned int nd;
} gpuplan_type;
/* Computes outs, which it makes (views of ins or new arrays), from ins; where input i
 * is a host integer ins[i] is NULL and ints[i] holds it. Returns a status. */
typedef int (*gpuplan_function)(void *data, GpuArray *const *outs,
                                const GpuArray *const *ins, const long long *ints);
/* A step that is whatever `function` does; without one (NULL) it is what GpuPlan_body
 * says. It is called when the plan is bound, on
 * arrays without memory: what it launches, copies and fills through this library is
 * recorded, and runs replay the record without calling it again. So it may neither read
 * elements nor depend on anything but its inputs' types, shapes and integers. `inplace`
 * as in gpuplan_elemwise; NULL: nothing is overwritten. `data` must live as long as the
 * plan. Another plan that it runs is recorded too, step by step;
 * GA_UNSUPPORTED_ERROR where that one waits for what is recorded (GpuPlan_read) or at
 * its end (GpuPlan_confirm). Of its own plan it may ask for GpuPlan_info;
 * GA_INVALID_ERROR for all else that a run would have to end before. */
int GpuPlan_function(GpuPlan *p, unsigned int *outs, const char *label,
                     gpuplan_function function, void *data, unsigned int n_in,
                     const unsigned int *ins, unsigned int n_out,
                     const gpuplan_type *results, const int *inplace);
/* For a step's function, on arrays that it was given and that it made: each run calls
 * `function`, between what is recorded before and after. It gets these arrays, then
 * with memory, and these integers; it fills outs, which keep their shapes and places,
 * and may read elements, wait and fail, which ends the run. Where no array is one of a
 * recording it is called at once. `data` must live as long as the plan. A binding with
 * such a call is never part of a graph, nor of a file. */
int GpuPlan_defer(gpuplan_function function, void *data, unsigned int n_out,
                  GpuArray *const *outs, unsigned int n_in, const GpuArray *const *ins,
                  const long long *ints);

/* A step that is a routine of the library, by its name: what it takes, and its integers
 * in brackets. Results have the types that the step announces.
 *
 *   sort a [axis, flags], argsort a [axis, flags], topk a k [axis, largest] (values and
 *   places), scan a [kind (0 sums, 1 products, 2 maxima, 3 minima), axis, flags],
 *   extremum a [axis, smallest, results], join arrays [axis], nonzero a (a row for
 *   each axis, as long as `a` has elements, which begins with the positions: what
 * counts them says how many), take a indices [first], put a indices v [first], add_at a
 * indices v [first], assign a v (these three: the result is `a`, overwritten), product
 * a b c [kind (0 dot, 1 gemv, 2 gemm, 3 batch), transposition, transposition, alpha
 * (two: its parts), beta (two)] (`c`, overwritten), ger a x y [alpha (two)] (`a`,
 * overwritten), empty lengths, zeros lengths, arange length, cast a, contiguous a (a
 * copy where it is not in C order), diagonal a [offset, axis, axis], require a integers
 * (`a` itself; fails with the text where one is not true), assert a integers (the same,
 * with GA_ASSERT_ERROR: what the program asserts), searchsorted a v [right], matrices
 * a b [kind, flags, rate] (stacks of three axes, factorized by kernels of the library's
 * (`a` itself; fails with the text where one is not true), assert a integers (the same,
 * with GA_ASSERT_ERROR: what the program asserts), searchsorted a v [right], matrices
 * a b [kind, flags, rate] (stacks of three axes, factorized by kernels of the library's
 * own: c/library/matrices.h; the text is what is told of a matrix that fails), rows
 * arrays integers [words] (a kernel along the rows of matrices, in the forms whose
 * texts follow: c/reduce/rows.h; its results are new matrices), kernel arrays integers
 * [geometry and arguments] (a kernel of the program's own, of its source and name:
 * c/plan/plan_launch.h; it writes into the arrays, of which the first is the result)
 *
 * as the functions of the same name; a double among integers is one of the same bits.
 */
typedef struct _gpuplan_routine {
  size_t size; /* sizeof(gpuplan_routine) */
  const char *label;
  const char *name;
  unsigned int n_params;
  const long long *params;
  unsigned int n_texts;
  const char *const *texts;
  unsigned int n_in;
  const unsigned int *ins; /* arrays and host integers */
  unsigned int n_out;
  const gpuplan_type *results;
} gpuplan_routine;
/* Adds a step that is a routine; everything in `step` is copied. GA_VALUE_ERROR for a
 * name that the library does not know, and for other inputs, integers and texts than
 * the routine takes; what depends on shapes shows when the step is bound. */
int GpuPlan_routine(GpuPlan *p, unsigned int *outs, const gpuplan_routine *step);
/* A step whose body is done once for each turn, 0 to `turns` - 1, one after another.
 * `takes` has a letter for each input: `r` an array of which each turn gets its row
 * (along the first axis, as long as there are turns), `c` an array that is carried on:
 * the first turn gets it, the others what the turn before made of it; `s` an array or a
 * host integer that is the same in all. The first results are what is carried, after
 * the last turn; the others have a turn's results in rows. */
typedef struct _gpuplan_loop {
  size_t size; /* sizeof(gpuplan_loop) */
  const char *label;
  unsigned int turns; /* a host integer; below 0 is 0 */
  const char *takes;
  unsigned int n_in;
  const unsigned int *ins;
  unsigned int n_out;
  const gpuplan_type *results;
} gpuplan_loop;
/* Adds a loop, to which GpuPlan_body then gives its body; everything in `step` is
 * copied. The turns are recorded, so a signature is bound for each number of them.
 * Results of a turn that lie in rows have one shape in all turns; where there is no
 * turn, that of a turn of zeros. GA_VALUE_ERROR for letters and results that fit no
 * loop. */
int GpuPlan_loop(GpuPlan *p, unsigned int *outs, const gpuplan_loop *step);
/* What the step of GpuPlan_function that makes `value` does where its function is not:
 * in a program that loads the plan from a file. `body` is a plan of its own, whose
 * inputs and integer inputs are those of the step, in order, and whose outputs are its
 * results; it does not read (GpuPlan_read). Of a GpuPlan_loop it is what a turn does:
 * rows have an axis less, and if the body has one integer input more than the loop, the
 * last is the turn. It writes into nothing that it is given. `p` takes it, also on
 * failure: GA_VALUE_ERROR where it does not fit the step. */
int GpuPlan_body(GpuPlan *p, unsigned int value, GpuPlan *body);
/* Whether signatures that are not bound yet may use bodies, as they do at first. With 0
 * a run of one whose steps would do so fails with GA_UNSUPPORTED_ERROR, for programs
 * that have the functions besides and take over then. Signatures that came with a file
 * run as before. */
int GpuPlan_use_bodies(GpuPlan *p, int on);

/* Steps that are added from here on run only where each of the n host integers
 * conditions[i] is true (not zero), or false where wanted[i] is 0; n = 0 ends it. They
 * are left out of what is recorded for a signature that does not take them. Of an
 * integer that only conditions depend on, the signature holds the truth. A value is
 * read only under the conditions it was computed under, or by GpuPlan_choose; as an
 * output of the plan it is an array of one element where it is not computed. */
int GpuPlan_when(GpuPlan *p, unsigned int n, const unsigned int *conditions,
                 const int *wanted);
/* `a` where the host integer is true, else `b`, of the same type: a view of it. `a` may
 * be computed only where the integer is true, `b` only where it is false. */
int GpuPlan_choose(GpuPlan *p, unsigned int *out, const char *label,
                   unsigned int condition, unsigned int a, unsigned int b);

/* The n elements of an array of integers or bool as host integers: what shapes and
 * conditions may depend on that the device computes. The only step at which a run
 * waits; such steps one after another share a wait. The steps between two waits are
 * bound and replayed by themselves. A run fails with GA_VALUE_ERROR where the array has
 * another number of elements. Of uint64 what is over INT64_MAX is read as that, as an
 * end of a slice is clipped. Where the step's conditions do not hold nothing is read,
 * and the integers are 0. Integers that are conditions only are not waited for where
 * the device's graphs choose (CUDA from 12.8 on), once a graph is made. An input that
 * is overwritten before the last such step is copied first, so that a run which fails
 * leaves it as it was. */
int GpuPlan_read(GpuPlan *p, unsigned int *outs, const char *label, unsigned int array,
                 unsigned int n);

/* How many wrong indices and failed factorizations kernels of the context, those of the
 * steps before too, reported that no wait has told of yet: uint32 without axes, on the
 * device. A step that reads it can leave memory as it is where it is not 0. */
int GpuPlan_reports(GpuPlan *p, unsigned int *out, const char *label);
/* Every run waits at its end, and fails for what its steps reported: nobody gets
 * results that are not to be relied on. For plans whose results replace values that are
 * to stay as they are then, where no step sees to that. */
int GpuPlan_confirm(GpuPlan *p);

/* The next result of the plan. A value may be returned more than once. */
int GpuPlan_output(GpuPlan *p, unsigned int value);

/* Tell of a kernel that a step's function will launch, so that GpuPlan_prepare compiles
 * it with all others and a file of the plan has it; kernels that nobody tells of are
 * compiled when a signature is bound. Texts are copied, objects are only read. The
 * kernel `name` of a CLUDA source: gpukernel_init with this source and name then finds
 * it. It is a program of its own unless it says that it can share one (kernel.h). A
 * name has less than 64 characters. */
int GpuPlan_needs_kernel(GpuPlan *p, const char *source, const char *name);
/* What GpuElemwise_call may need for arrays of at most `nd` axes. Bit i of `singles`
 * says that the i-th argument that is no output always has one element. */
int GpuPlan_needs_elemwise(GpuPlan *p, GpuElemwise *ge, unsigned int nd,
                           unsigned int singles);
/* What GpuReduction_apply may need for inputs of `nd` axes, over those of the bits. */
int GpuPlan_needs_reduction(GpuPlan *p, GpuReduction *gr, unsigned int nd,
                            unsigned int axes);

/* Compiles every kernel the plan can need for inputs in C order of less than 2^31
 * elements, in one go. What inputs of other layouts need besides is compiled when the
 * first of them is bound; so are a GPU's products of matrices and what is computed of
 * their elements, for their sizes choose the kernel. */
int GpuPlan_prepare(GpuPlan *p);
/* The same without waiting, where the device's compiler gains by working on several
 * threads (CUDA's does): the first run does wait, for what it needs, and meanwhile its
 * products are compiled too. What does not compile is told of then. */
int GpuPlan_prepare_ahead(GpuPlan *p);

/* How many signatures the plan keeps bound, those last used; 64 at first.
 * GA_VALUE_ERROR for 0. */
int GpuPlan_keep(GpuPlan *p, unsigned int n);
/* Whether the memory of intermediate results stays with the plan between runs of one
 * signature, so that none asks the pool for it; memory of results too that the caller
 * has given up. That of the signature that ran last is kept. Without this it is so
 * where both need at most 64 KiB. It holds for what is bound later. */
int GpuPlan_hold(GpuPlan *p, int on);

/* Whether a run that the device refuses halfway leaves inputs as they were which steps
 * overwrite. The first run of a signature overwrites copies, where steps come after
 * and there is room for both; what the device refuses of later ones, which it took
 * then, is tried again once the queue is empty. Refused for good, what was overwritten
 * before it stays so. GpuFunction does this for values that it keeps. */
int GpuPlan_protect(GpuPlan *p, int on);

/* Runs the plan. ins[i] are arrays on the plan's context; outs[i] are overwritten with
 * new arrays that the caller clears. An output that took over an input's memory shares
 * its buffer. Each input is a value of its own, wherever it lies: one that a step
 * overwrites is copied first where it lies over a constant, or where a function that
 * GpuPlan_defer was given or GpuPlan_confirm may end the run after that; one that is
 * read as late as that is copied where the two overlap. On failure outs are left as
 * they were and *failed_step, if wanted, is the step's index or -1. */
int GpuPlan_run(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                int *failed_step);

/* GpuPlan_run of a plan with integer inputs: ints[i] is the i-th of them. */
int GpuPlan_call(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints, int *failed_step);

/* Binds the plan to the shapes, strides and alignment of `ins`, so that the first run
 * with such inputs only replays: up to the first step that waits, for what comes after
 * depends on what is read. Nothing is queued; fails as GpuPlan_run does, and with
 * GA_VALUE_ERROR for a plan with integer inputs. */
int GpuPlan_bind(GpuPlan *p, const GpuArray *const *ins, int *failed_step);

/* Writes the plan to a file that GpuPlan_load reads on any machine and any device:
 * values, steps, the texts of kernels and the constants' elements; and for the device
 * it is on, the kernels that were compiled. It runs wherever it is read, but for steps
 * of GpuPlan_function without a body (GpuPlan_body). Of a plan with functions a file
 * has what was recorded for the signatures bound, which is of use on this device and
 * driver only. Waits for the constants. The file appears whole or not at all, whoever
 * else writes it at the same time: the last one stays. GA_SYS_ERROR if it cannot be
 * written, GA_UNSUPPORTED_ERROR for a step of more than 256 inputs or results. */
int GpuPlan_save(GpuPlan *p, const char *path);
/* A plan from a file, on `ctx`; the caller owns *res. On the device and driver that the
 * file is from the context gets its compiled kernels: signatures that were bound run
 * without compiling, others after GpuPlan_prepare. For these a step that was a
 * function is its body; without one it fails with GA_UNSUPPORTED_ERROR then. On another
 * device or driver every signature is another.
 * Kernels, compiled or as text, are code: on a processor they run in this process. Load
 * files that you trust; the hash in a file tells damage, not who wrote it. What else is
 * in a file is checked: wrong sizes, offsets and numbers give wrong results or an
 * error, and reach nothing beyond the plan's arrays; but the numbers that a recorded
 * step gives to its kernels are the file's. GA_SYS_ERROR if the file cannot
 * be read, GA_VALUE_ERROR if it is no plan, is damaged or was written by a newer
 * library. */
int GpuPlan_load(GpuPlan **res, gpucontext *ctx, const char *path);

/* What input `i` must be; *broadcastable as GpuPlan_input took it. Each place may be
 * NULL. */
int GpuPlan_input_type(GpuPlan *p, unsigned int i, int *typecode, unsigned int *nd,
                       unsigned int *broadcastable);
/* What output `i` is. */
int GpuPlan_output_type(GpuPlan *p, unsigned int i, int *typecode, unsigned int *nd);

typedef struct _gpuplan_info {
  size_t n_inputs;
  size_t n_outputs;
  size_t n_steps;
  size_t n_bindings; /* signatures kept */
  size_t n_binds;    /* signatures bound so far */
  size_t n_launches; /* kernels and library calls of the latest run, or of
                        all its sides, where the device chooses among them */
  size_t n_allocs;   /* buffers of the latest run */
  size_t workspace;  /* bytes of intermediates of the latest run */
} gpuplan_info;
/* What the plan has and did so far. */
int GpuPlan_info(GpuPlan *p, gpuplan_info *res);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
