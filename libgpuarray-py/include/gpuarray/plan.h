/* GpuPlan: a compiled function, built once and run many times.
 *
 * A plan has values and steps. A value is an array, or a host integer that shapes
 * depend on; a number names it. Steps run in the order in which they were added. The
 * signature of a run is the shapes, strides and alignment of its inputs. The first run
 * of a signature binds the plan: it settles sizes, launches and reuse of memory, and
 * keeps them; later runs replay them. Binding compiles what GpuPlan_prepare has not.
 *
 * Ownership: the plan copies what it is given, unless a function says otherwise; the
 * caller owns the arrays that a run returns. Waiting: a run queues work. It waits at
 * GpuPlan_read, at copies between contexts of unlike drivers (GpuPlan_transfer), and at
 * its end after GpuPlan_confirm, else not at all; binding and GpuPlan_prepare compile.
 * Failure: a status, with outputs untouched and the plan unchanged; the text names the
 * label of the step that failed. Threads: runs of one plan are serialised; different
 * plans run concurrently. */
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
  GP_INT_MOD = 6, /* has the divisor's sign */
  GP_INT_LT = 7,  /* 1 or 0 */
  GP_INT_LE = 8,
  GP_INT_EQ = 9,
  GP_INT_AND = 10, /* bitwise, as OR */
  GP_INT_OR = 11,
  GP_INT_CAST = 12 /* `a` cast to the integer type of typecode `b` */
};

/* Properties of a device, for GpuPlan_device. */
enum gpuplan_device {
  GP_DEVICE_IS_PROCESSOR = 0, /* 1 for a CPU, else 0 */
  GP_DEVICE_PROCESSORS = 1    /* its multiprocessors, or cores */
};

/* Makes an empty plan on `ctx`; error texts have its `name`. The caller owns *res. */
int GpuPlan_new(GpuPlan **res, gpucontext *ctx, const char *name);
/* Frees the plan with its bindings. NULL is allowed. */
void GpuPlan_free(GpuPlan *p);

/* Values. Each function writes the number of the new value.
 *
 * Adds an input array of `nd` axes. Bit i of `broadcastable` says that axis i always
 * has length 1, and broadcasts in elementwise steps, where the other axes match. */
int GpuPlan_input(GpuPlan *p, unsigned int *value, int typecode, unsigned int nd,
                  unsigned int broadcastable);
/* A host integer given at each call. The plan is bound again when it changes, unless
 * only views of inputs depend on it. */
int GpuPlan_int_input(GpuPlan *p, unsigned int *value);
/* A constant array, of which the plan holds a reference. No step and no result reuses
 * its memory: a result that is the constant is a copy. */
int GpuPlan_constant(GpuPlan *p, unsigned int *value, const GpuArray *a);
/* A constant host integer. */
int GpuPlan_int(GpuPlan *p, unsigned int *value, long long x);
/* A property of the plan's device (enum gpuplan_device) as a host integer. A plan from
 * a file has that of the device it was loaded on. */
int GpuPlan_device(GpuPlan *p, unsigned int *value, int property);
/* The length of an axis of an array, as a host integer. */
int GpuPlan_dim(GpuPlan *p, unsigned int *value, unsigned int array, unsigned int axis);
/* A host integer computed from two others; `op` is an enum gpuplan_int_op. */
int GpuPlan_int_op(GpuPlan *p, unsigned int *value, int op, unsigned int a,
                   unsigned int b);

/* Steps. `label` names the step in errors and profiles; it is copied. */

/* An elementwise step: the expression names output outs[i] out_args[i] (GE_WRITE) and
 * input ins[j] in_args[j]. A host integer may be a GE_SCALAR of typecode GA_LONG; an
 * array of any type a GE_INDEX.
 * Output i overwrites the input of index inplace[i] (-1: none; NULL: none at all). */
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
  const unsigned int *stretch; /* bits of the axes that broadcast, for each input;
                                  NULL: none */
} gpuplan_elemwise;
/* Adds an elementwise step; everything in `step` is copied. */
int GpuPlan_elemwise(GpuPlan *p, unsigned int *outs, const gpuplan_elemwise *step);

/* Reduces the axes set in the bits of `axes`, as GpuReduction_apply without keepdims;
 * writes one value for each result of `spec`. `stretch` as in gpuplan_elemwise. */
int GpuPlan_reduce(GpuPlan *p, unsigned int *outs, const char *label,
                   const gpureduction_spec *spec, const unsigned int *ins,
                   const unsigned int *stretch, unsigned int axes);
/* out = alpha op(a) x + beta c, `inplace` over c; with beta 0 `c` is ignored. */
int GpuPlan_gemv(GpuPlan *p, unsigned int *out, const char *label, double alpha,
                 unsigned int a, cb_transpose trans_a, unsigned int x, double beta,
                 unsigned int c, int inplace);
/* out = alpha op(a) op(b) + beta c; `c` and `inplace` as in GpuPlan_gemv. */
int GpuPlan_gemm(GpuPlan *p, unsigned int *out, const char *label, double alpha,
                 unsigned int a, cb_transpose trans_a, unsigned int b,
                 cb_transpose trans_b, double beta, unsigned int c, int inplace);
/* Views, as GpuArray's functions of the same names; `dims` are host integers. */
int GpuPlan_dimshuffle(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                       unsigned int nd, const int *pattern);
/* One of `dims` may be -1, the length that is left. Copies if no view can be had. */
int GpuPlan_reshape(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                    unsigned int nd, const unsigned int *dims);
/* A read-only view that broadcasts axes of length 1 to `dims`. */
int GpuPlan_broadcast(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                      unsigned int nd, const unsigned int *dims);
/* The form of an index into one axis: an integer (GP_INDEX_AT), or GP_INDEX_SLICE with
 * the bits of those bounds that are given. */
enum gpuplan_index {
  GP_INDEX_AT = 0,
  GP_INDEX_START = 1,
  GP_INDEX_STOP = 2,
  GP_INDEX_STEP = 4,
  GP_INDEX_SLICE = 8
};
/* Basic indexing: a view by integers and slices of the first `n` axes, with Python's
 * rules for negative and out-of-range bounds. form[i] is an enum gpuplan_index; `ints`
 * are the host integers in order. If they are integer inputs and `a` is an input, each
 * run takes the view: views of the same layout share a binding. */
int GpuPlan_index(GpuPlan *p, unsigned int *out, const char *label, unsigned int a,
                  unsigned int n, const int *form, const unsigned int *ints);
/* A C-contiguous copy. */
int GpuPlan_copy(GpuPlan *p, unsigned int *out, const char *label, unsigned int a);

/* The type of a result of a step. */
typedef struct _gpuplan_type {
  int typecode;
  unsigned int nd;
} gpuplan_type;
/* Computes `outs`, as views of `ins` or new arrays that it makes, and returns a status.
 * Where input i is a host integer, ins[i] is NULL and ints[i] has its value. */
typedef int (*gpuplan_function)(void *data, GpuArray *const *outs,
                                const GpuArray *const *ins, const long long *ints);
/* Adds a step that calls `function`, or, with NULL, runs the body that GpuPlan_body
 * gives it. Binding calls the function, on arrays without memory, and records every
 * launch, copy and fill that it makes through this library; runs replay the record and
 * do not call it. So it may not read elements, and may depend only on types, shapes and
 * integers of its inputs. `inplace` as in gpuplan_elemwise. `data` must outlive the
 * plan.
 *
 * A plan that the function runs is recorded step by step: GA_UNSUPPORTED_ERROR if that
 * plan waits for recorded values (GpuPlan_read) or at its end (GpuPlan_confirm). On its
 * own plan the function may only call GpuPlan_info; GA_INVALID_ERROR for anything that
 * needs the run to end first. */
int GpuPlan_function(GpuPlan *p, unsigned int *outs, const char *label,
                     gpuplan_function function, void *data, unsigned int n_in,
                     const unsigned int *ins, unsigned int n_out,
                     const gpuplan_type *results, const int *inplace);
/* For a step's function: makes each run call `function` on these arrays, which now have
 * memory, and these integers, in order with the recorded work. It fills `outs`, whose
 * shapes and places stay, and may read elements, wait and fail; a failure ends the run.
 * Called at once if no array belongs to a recording. `data` must outlive the plan. A
 * binding with such a call is neither in a graph nor in a file. */
int GpuPlan_defer(gpuplan_function function, void *data, unsigned int n_out,
                  GpuArray *const *outs, unsigned int n_in, const GpuArray *const *ins,
                  const long long *ints);

/* A step that is a routine of the library. Its name, inputs, and [integers]; a double
 * among the integers is passed by its bits. Each does what the function of that name
 * does; results have the types that the step declares.
 *
 *   sort a [axis, flags]
 *   argsort a [axis, flags]
 *   topk a k [axis, largest]: values and indices
 *   scan a [kind (0 sum, 1 product, 2 maximum, 3 minimum), axis, flags]
 *   extremum a [axis, smallest, results]
 *   searchsorted a v [right]
 *   join arrays [axis]
 *   nonzero a: a row for each axis, of as many elements as `a`, which begins with the
 *     positions; the count comes from elsewhere
 *   take a indices [first]
 *   put a indices v [first], add_at a indices v [first], assign a v: overwrite `a`
 *   product a b c [kind (0 dot, 1 gemv, 2 gemm, 3 batch), transpose a, transpose b,
 *     alpha (real, imaginary), beta (real, imaginary)]: overwrites `c`
 *   ger a x y [alpha (real, imaginary)]: overwrites `a`
 *   Sparse matrices are values, indices and indptr; behind the arrays are the lengths
 * of their shape, and the first number is the format (<gpuarray/sparse.h>). Results of
 *     three are values, indices and indptr.
 *   sparse_product a x [format, x from the left], sparse_product_add a x y [the same,
 *     alpha (real, imaginary), beta (real, imaginary)]: overwrites y
 *   sparse_sampled indices indptr x y [format], sparse_sample indices indptr dense
 *     [format]: values
 *   sparse_solve a x [format, flags]: overwrites x
 *   sparse_dense a [format], sparse_convert a [format, to]: three results, sparse_sort
 * a [format]: three; sparse_sum a [format, axis], sparse_diagonal a [format, offset]
 *   sparse_unique_count a [format], sparse_unique a counts n [format]: three;
 *     sparse_take_count a indices [format, axis], sparse_take a indices counts n
 *     [format, axis]: three; n, the number of values, is behind the shape
 *   sparse_match a b [format], sparse_merge a b matches n [format, is a product, alpha
 *     (real, imaginary), beta (real, imaginary)]: three
 *   sparse_spgemm_count a b [format], sparse_spgemm a b counts n [format]: three; the
 *     shape is three lengths
 *   conv image filters [gpuconv], conv_grad_image grad filters lengths [gpuconv],
 *     conv_grad_filters image grad lengths [gpuconv]: lengths are the output's spatial
 *     axes; [gpuconv] are nd, groups, flags, and each three strides, dilations, and
 *     zeros before and after
 *   images_to_neighbours images shape step [mode], neighbours_to_images neighbours
 *     lengths shape step [mode]: two integers each, four lengths; the mode is a
 *     gpuneighbours_mode
 *   ctc activations labels lengths: the costs, and with two results the gradients
 *   pool a, pool_grad a grad (of maxima: a result grad), pool_at_maxima a result v,
 *     pool_at_first a v [mode, flags]: <gpuarray/dnn.h>; behind the arrays integers:
 *     windows, strides, padding before and after, each of all spatial axes
 *   batch_norm_train x gamma beta [axes, epsilon, factor]: the result, mean and inverse
 *     deviation; with a running mean and variance behind beta their new values, too;
 *     batch_norm x gamma beta mean variance; batch_norm_grad grad x gamma mean invstd:
 *     the gradients by x, gamma and beta
 *   upsample images, upsample_grad grad lengths [up, up, down, down]: lengths are rows
 *     and columns of the result, here and below
 *   affine_grid theta lengths, affine_grid_grad grad, grid_sample images grid,
 *     grid_sample_grad_images grid grad lengths, grid_sample_grad_grid images grid grad
 *   empty lengths, zeros lengths, arange length
 *   random seed stream position a [bits of four doubles]: a draw in the shape of `a`
 *     from the distribution that the text names, whose parameters the doubles are; the
 *     first arrays have one uint64 each
 *   cast a
 *   contiguous a: a copy unless `a` is in C order
 *   diagonal a [offset, axis, axis]
 *   require a integers: `a`; fails with the text if an integer is 0
 *   assert a integers: the same with GA_ASSERT_ERROR, for conditions of the program
 *   mask a b [axis]: `a`; GA_INDEX_ERROR where b is not as long as it from the axis on
 *   length a m n: `a`; fails with the text and both integers where they differ
 *   at_most a m n: `a`; GA_INDEX_ERROR where m is larger than n
 *   matrices a b [kind, flags, rate]: stacks of three axes, factorized by the library's
 *     own kernels (matrices_spec.h); the text is the error of a matrix that fails
 *   rows arrays integers [words, for each result the input it takes over or -1]: a row
 *     program, a kernel along the rows of matrices whose texts are those of
 *     c/reduce/rows_call.h; results are matrices
 *   row_products arrays integers [as above]: the same where all that is done with
 *     elements is a product of the first matrix and a vector; results have no rows
 *     where the BLAS does better
 *   row_totals arrays integers [words, bytes of the folds of a row, as above]: the
 *     same with what is folded over all rows: behind the results the totals of each
 *     block, whose rows another step folds; all empty where other steps do better
 *   kernel arrays integers [geometry and arguments]: the program's own kernel, by
 *     source and name (c/routines/kernel_routine.h); writes into the arrays, the first
 * of which is the result */
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
/* Adds a routine step; everything in `step` is copied. GA_VALUE_ERROR for an unknown
 * name, or inputs, integers and texts that the routine does not take. Errors that
 * depend on shapes come when the step is bound. */
int GpuPlan_routine(GpuPlan *p, unsigned int *outs, const gpuplan_routine *step);
/* A loop: the body runs once for each iteration, 0 to `turns` - 1, in order. `takes`
 * has a letter for each input: `r` rows, of which each iteration gets one (along the
 * first axis, of length `turns`); `c` a carried array, which iteration 0 gets as given
 * and later ones as the iteration before returned it, in the same shape; `u` the same
 * of one bool, and once an iteration made it true the later ones need not run: neither
 * they nor their rows matter; `s` an array or host integer that every iteration gets.
 * With these letters instead of `c` the loop may run in chunks of iterations, side by
 * side, with other rounding: `a` of an affine state, of which an iteration makes k a +
 * b where neither k nor b depends on a carried array; `f` of its factor, of which it
 * makes k f: it begins as ones, has the type and shape of the state, stands in the same
 * order as the states do, and its result has no meaning; `+` of an array that
 * iterations add to, and read for nothing else. Results are first the carried arrays
 * after the last iteration, then arrays whose rows are the results of the iterations.
 */
typedef struct _gpuplan_loop {
  size_t size; /* sizeof(gpuplan_loop) */
  const char *label;
  unsigned int turns; /* iterations, a host integer; negative counts as 0 */
  const char *takes;
  unsigned int n_in;
  const unsigned int *ins;
  unsigned int n_out;
  const gpuplan_type *results;
} gpuplan_loop;
/* Adds a loop, whose body GpuPlan_body then gives; everything in `step` is copied.
 * Iterations are unrolled when the loop is recorded, so each number of them is a
 * signature of its own; with `u` the condition is looked at once every 16 iterations.
 * A loop whose body reads or has several contexts is not recorded: each run calls the
 * body, which is bound on its own, once an iteration, and looks at the condition after
 * each that waits, else once every 16. `s` arrays may then be on any context.
 * Results in rows have one shape in all iterations; with none, the shape that an
 * iteration on zeros has. GA_VALUE_ERROR for letters and results that make no loop. */
int GpuPlan_loop(GpuPlan *p, unsigned int *outs, const gpuplan_loop *step);
/* Gives a body, a plan of its own, to the GpuPlan_function or GpuPlan_loop step that
 * makes `value`. A function's body does what the function does in programs that load
 * the plan from a file and lack the function: its inputs and integer inputs are those
 * of the step, in order, its outputs the results. A loop's body is one iteration: rows
 * have one axis less, and one integer input more than the loop has is its number. A
 * body is on the step's context and gives its results there. A function's may not read
 * (GpuPlan_read) nor have other contexts, and writes only into inputs that the step
 * takes over; a loop's may read and have contexts of `p`, and writes only into the
 * carried inputs, of which it gets copies. `p` takes `body`, also on failure:
 * GA_VALUE_ERROR if it does not fit the step. */
int GpuPlan_body(GpuPlan *p, unsigned int value, GpuPlan *body);
/* Permits signatures that are not bound yet to use bodies, as is the default. With 0 a
 * run that would use one fails with GA_UNSUPPORTED_ERROR, so that a program which has
 * the functions can take over. Signatures that came with a file run as before. */
int GpuPlan_use_bodies(GpuPlan *p, int on);

/* Sets the condition of the steps added from here on: they run only if each host
 * integer conditions[i] is nonzero (or zero, where wanted[i] is 0); n = 0 ends it. A
 * signature records only the steps whose condition holds; of an integer that only
 * conditions use, it has the truth value. A value may be read only under the conditions
 * that it was computed under, or by GpuPlan_choose. As an output of the plan, a value
 * that was not computed is an array of one element. */
int GpuPlan_when(GpuPlan *p, unsigned int n, const unsigned int *conditions,
                 const int *wanted);
/* A conditional: a view of `a` if the host integer is nonzero, else of `b`, which has
 * the same type. Either may be computed only where it is chosen. */
int GpuPlan_choose(GpuPlan *p, unsigned int *out, const char *label,
                   unsigned int condition, unsigned int a, unsigned int b);

/* Adds a context to the plan, on which inputs and steps can be; its own is place 0. A
 * context that it has keeps its place. Writes the place; the plan retains `ctx`. A plan
 * of several contexts runs in parts of one context each, with copies between them. */
int GpuPlan_add_context(GpuPlan *p, unsigned int *place, gpucontext *ctx);
#define GPUPLAN_NAME 64 /* bytes of a context's name in a file, with the end */
/* Names a context, by its place, in files; the name is copied. By default the plan's
 * own has none, and another one's is "dev" and its place. GA_VALUE_ERROR for a name
 * that is empty or too long, GA_INVALID_ERROR for a place that does not exist. */
int GpuPlan_name_context(GpuPlan *p, unsigned int place, const char *name);
/* Sets the context, by its place, of the inputs and steps added from here on. A step's
 * arrays are on its context; of GpuPlan_dim, GpuPlan_read and GpuPlan_transfer on any,
 * constants where their arrays are. GA_INVALID_ERROR for a place that is none. */
int GpuPlan_on(GpuPlan *p, unsigned int place);
/* A C-contiguous copy of an array, of whichever context, on that of the step
 * (GpuPlan_on). Between contexts of one driver that can it is a peer copy, ordered by
 * events, and no host waits. Else it goes by host memory: the run waits for the source,
 * when first a step needs the copy, so that the steps before it are queued by then. */
int GpuPlan_transfer(GpuPlan *p, unsigned int *out, const char *label,
                     unsigned int array);

/* Reads the n elements of an array of integers or bool into host integers, so that
 * shapes and conditions can depend on device results. The only step at which a run
 * waits; neighbouring reads share one wait. The stages between waits are bound and
 * replayed separately. GA_VALUE_ERROR if the array has another number of elements.
 * uint64 values are clipped to INT64_MAX, as an end of a slice is. Where the step's
 * conditions do not hold nothing is read and the integers are 0. Integers used only as
 * conditions need no wait once the run is a graph with conditional nodes (CUDA 12.8 or
 * newer). An input that is overwritten before the last read is left unchanged by a run
 * that fails: elementwise steps write elsewhere, for others it is copied first. */
int GpuPlan_read(GpuPlan *p, unsigned int *outs, const char *label, unsigned int array,
                 unsigned int n);

/* The index-error flag of the context: the number of wrong indices and failed
 * factorizations that its kernels reported, earlier steps included, and that no wait
 * has raised yet. A uint32 of no axes, on the device: a step that reads it can leave
 * memory unchanged if it is not 0. */
int GpuPlan_reports(GpuPlan *p, unsigned int *out, const char *label);
/* Makes each run wait at its end and fail if a step reported an error, so that no
 * result is used that is not valid. For plans whose results replace kept values, if no
 * step guards them (GpuPlan_reports). */
int GpuPlan_confirm(GpuPlan *p);

/* Adds the next output of the plan. A value may be an output more than once. */
int GpuPlan_output(GpuPlan *p, unsigned int value);

/* Declare a kernel that a step's function will launch, so that GpuPlan_prepare compiles
 * it and files of the plan include it; others are compiled when a signature is bound.
 * Texts are copied, objects only read.
 *
 * Declares the kernel `name` of a CLUDA source, which gpukernel_init with this source
 * and name then finds. It is a program of its own unless it says that it can share one
 * (kernel.h). `name` has less than 64 characters. */
int GpuPlan_needs_kernel(GpuPlan *p, const char *source, const char *name);
/* Declares the kernels of GpuElemwise_call for arrays of at most `nd` axes. Bit i of
 * `singles` says that the i-th input always has one element. */
int GpuPlan_needs_elemwise(GpuPlan *p, GpuElemwise *ge, unsigned int nd,
                           unsigned int singles);
/* Declares the kernels of GpuReduction_apply for inputs of `nd` axes, over the axes set
 * in `axes`. */
int GpuPlan_needs_reduction(GpuPlan *p, GpuReduction *gr, unsigned int nd,
                            unsigned int axes);

/* Compiles, in one batch, every kernel that inputs in C order of less than 2^31
 * elements can need. Kernels for other layouts are compiled when the first such input
 * is bound; so are a GPU's matrix products with their epilogues, whose kernels depend
 * on sizes. */
int GpuPlan_prepare(GpuPlan *p);
/* GpuPlan_prepare in the background, where the device's compiler can use several
 * threads (CUDA's does), matrix products included. The first run waits for the kernels
 * that it needs, and reports what did not compile. */
int GpuPlan_prepare_ahead(GpuPlan *p);

/* Sets how many bindings the plan keeps, the latest used; 64 by default. Not 0. */
int GpuPlan_keep(GpuPlan *p, unsigned int n);
/* Keeps the memory of intermediates with the plan between runs of one signature, so
 * that runs do not allocate; also the memory of results that the caller has released.
 * Only the signature that ran last keeps it. By default this is so where both need 64
 * KiB at most. Applies to what is bound later. */
int GpuPlan_hold(GpuPlan *p, int on);

/* Preserves inputs that steps overwrite if the device refuses a run halfway. The first
 * run of a signature overwrites copies, if steps follow and both fit in memory. A
 * launch that is refused in later runs, which were accepted once, is retried when the
 * queue is empty; if refused again, what was overwritten before it stays overwritten.
 * GpuFunction does this for its kept values. */
int GpuPlan_protect(GpuPlan *p, int on);

/* Runs the plan. ins[i] are arrays on the plan's context, or that of the input; outs[i]
 * are overwritten with new arrays that the caller clears. An output that took over an
 * input's memory shares its buffer. An input that a step overwrites is copied first if
 * it overlaps a constant, or if a deferred function (GpuPlan_defer) or GpuPlan_confirm
 * may still end the run after the write; inputs that overlap and are read after such a
 * write are copied too. On failure `outs` are unchanged and *failed_step, unless NULL,
 * is the step's index or -1. */
int GpuPlan_run(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                int *failed_step);

/* GpuPlan_run for a plan with integer inputs: ints[i] is the i-th of them. */
int GpuPlan_call(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                 const long long *ints, int *failed_step);

/* Binds the plan to the signature of `ins`, so that the first run only replays; up to
 * the first step that waits, as later stages depend on what it reads. Queues nothing.
 * Fails as GpuPlan_run, and with GA_VALUE_ERROR for a plan with integer inputs. */
int GpuPlan_bind(GpuPlan *p, const GpuArray *const *ins, int *failed_step);

/* Writes the plan to a file that GpuPlan_load reads on any machine and device: values,
 * steps, kernel sources and constants, and for this device the compiled kernels.
 * GpuPlan_function steps without a body run only as recorded for the signatures bound
 * so far, on this device and driver. Waits for the constants. The file is written whole
 * or not at all; of several writers the last wins. GA_SYS_ERROR if it cannot be
 * written, GA_UNSUPPORTED_ERROR for a step of more than 256 inputs or results,
 * GA_INVALID_ERROR where two contexts have one name. */
int GpuPlan_save(GpuPlan *p, const char *path);
/* Loads a plan from a file onto `ctx`; the caller owns *res. On the device and driver
 * of the file the context gets its compiled kernels: signatures that were bound run
 * without compiling, others after GpuPlan_prepare. Signatures that were not bound, on
 * another device or driver all of them, run the bodies of function steps; a step
 * without one fails with GA_UNSUPPORTED_ERROR.
 *
 * Load only files that you trust: kernels, compiled or as source, are code, and on a
 * CPU they run in this process. The hash in a file detects damage, not its author.
 * Everything else is checked: wrong sizes, offsets and numbers give wrong results or an
 * error but stay within the plan's arrays; except that the numbers a recorded step
 * passes to its kernels come from the file. GA_SYS_ERROR if the file cannot be read,
 * GA_VALUE_ERROR if it is no plan, damaged, of a newer library or of several contexts.
 */
int GpuPlan_load(GpuPlan **res, gpucontext *ctx, const char *path);

typedef struct _gpuplan_context {
  const char *name; /* NULL: the plan's own context, if no item has its name */
  gpucontext *context;
} gpuplan_context;
/* GpuPlan_load with a context for each name in the file; several may have the same one,
 * other names are ignored. GA_VALUE_ERROR lists the file's names where one is missing.
 */
int GpuPlan_load_on(GpuPlan **res, unsigned int n, const gpuplan_context *contexts,
                    const char *path);
/* Writes the number of contexts in a file of a plan or a function to *n, and the name
 * of the one at `place` to `name`, of GPUPLAN_NAME bytes; "" for an own one without a
 * name. Reads no more than that. GA_INVALID_ERROR for a place that does not exist. */
int GpuPlan_file_context(const char *path, unsigned int place, char *name,
                         unsigned int *n);

/* The type of input `i`, as GpuPlan_input took it. Any pointer may be NULL. */
int GpuPlan_input_type(GpuPlan *p, unsigned int i, int *typecode, unsigned int *nd,
                       unsigned int *broadcastable);
/* The type of output `i`. */
int GpuPlan_output_type(GpuPlan *p, unsigned int i, int *typecode, unsigned int *nd);

typedef struct _gpuplan_info {
  size_t n_inputs;
  size_t n_outputs;
  size_t n_steps;
  size_t n_bindings; /* bindings kept */
  size_t n_binds;    /* bindings made so far */
  size_t n_launches; /* kernels and library calls of the latest run; all branches
                        count, where the device evaluates conditions */
  size_t n_allocs;   /* buffers that the latest run allocated */
  size_t workspace;  /* bytes of intermediates of the latest run */
} gpuplan_info;
/* Writes the counts of the plan and of its latest run. */
int GpuPlan_info(GpuPlan *p, gpuplan_info *res);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
