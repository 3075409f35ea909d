#include "c/dnn/conv_words.h"

#include "c/base/dtype.h"

void ga__conv_add_conversion(ga_strbuf *text, const char *name,
                             const char *conversion) {
  ga__strbuf_addf(text, "#define %s(v) ", name);
  ga__strbuf_fill(text, conversion, "(v)");
  ga__strbuf_add(text, "\n");
}

void ga__conv_add_types(ga_strbuf *text, int typecode, bool is_sum) {
  const char *sum = ga__dtype_work_ctype(typecode);
  ga__strbuf_addf(text, "#define CV_TYPE %s\n#define CV_ACC %s\n#define CV_OUT %s\n",
                  ga__dtype_ctype(typecode), sum,
                  is_sum ? sum : ga__dtype_ctype(typecode));
  ga__conv_add_conversion(text, "CV_LOAD", ga__dtype_load(typecode));
  ga__conv_add_conversion(text, "CV_STORE", is_sum ? "%" : ga__dtype_store(typecode));
}
