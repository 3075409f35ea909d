/* Words that the kernels of convolutions share. */
#ifndef GA_C_CONV_WORDS_H
#define GA_C_CONV_WORDS_H

#include "c/base/strbuf.h"

/* Adds CV_TYPE, CV_ACC, CV_OUT, CV_LOAD and CV_STORE; the output is of the type that
 * sums have where it `is_sum`. */
void ga__conv_add_types(ga_strbuf *text, int typecode, bool is_sum);
/* Adds a macro of one argument from a conversion of c/base/dtype.h. */
void ga__conv_add_conversion(ga_strbuf *text, const char *name, const char *conversion);

#endif
