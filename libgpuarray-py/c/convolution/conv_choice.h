/* How a convolution is computed: by our kernels, as products of matrices, or by the
 * vendor's library. */
#ifndef GA_C_CONV_CHOICE_H
#define GA_C_CONV_CHOICE_H

#include "c/convolution/conv_call.h"

enum ga_conv_way {
  GA_CONV_BY_OWN,
  GA_CONV_BY_PRODUCTS, /* one for each image */
  GA_CONV_BY_COLUMNS,  /* one for all images */
  GA_CONV_BY_VENDOR,
  GA_CONV_WAYS,
  GA_CONV_UNDECIDED = GA_CONV_WAYS /* what is recorded will be dropped */
};

/* Queues a convolution. */
typedef int (*ga_conv_run)(const ga_conv *c);

/* The way that takes the shortest time, of those that `runs` has. They are timed once
 * for a signature, on memory of their own, which waits; the answer is kept in memory
 * and on disk. `otherwise` where they could not be timed; undecided in a rehearsal
 * (ga__recording_drop), which has then recorded all of them. The vendor's without trial
 * where `is_brief` says so; NULL: it does not serve. */
enum ga_conv_way ga__conv_fastest(const ga_conv *c,
                                  const ga_conv_run runs[GA_CONV_WAYS],
                                  enum ga_conv_way otherwise,
                                  bool (*is_brief)(const ga_conv *c));

/* By the vendor's library or as products. *done: false if `own` is to compute it: no
 * other way serves the convolution, or all are slower. */
int ga__conv_vendor(bool *done, const ga_conv *c, ga_conv_run own);

/* The way that computes it. May time it, as ga__conv_vendor does. */
enum ga_conv_way ga__conv_way(const ga_conv *c, ga_conv_run own);
/* By the vendor's library, with what reads the result. GA_DEVSUP_ERROR where it has not
 * queued that. */
int ga__conv_vendor_mapped(const ga_conv *c, const ga_mapping *map,
                           const ga_conv_reader *reader);
/* True where that was timed faster than a result and a pass over it. A scale and a
 * centre are left out of account. */
bool ga__conv_vendor_gains(const ga_conv *c, const ga_mapping *map,
                           const ga_conv_reader *reader);

/* True for a failure of the device itself, which every way would meet. */
static inline bool ga__conv_is_final(int status) {
  return status == GA_RUN_ERROR || status == GA_LOST_ERROR;
}

#endif
