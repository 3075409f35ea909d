/* Convolutions by the kernel that serves all of them. */
#include "c/convolution/kernels/conv_direct.inc"
#include "c/convolution/conv_call.h"
#include "c/dnn/conv_words.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

typedef struct direct_spec {
  unsigned char typecode, role, is_wide, is_unshared;
} direct_spec;

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const direct_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  ga__conv_add_types(&text, s->typecode, false);
  ga__strbuf_addf(&text,
                  "#define CV_INT %s\n#define CV_ROLE %d\n#define CV_IS_UNSHARED %d\n",
                  s->is_wide ? "ga_ssize" : "ga_int", s->role, s->is_unshared);
  ga__strbuf_add(&text, conv_direct_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "conv", NULL, "#define CV_NAME %\n", &text);
}

static void add_array(ga_args *args, bool is_wide, const ga_conv_array *a) {
  for (int i = 0; i < 2; i++)
    ga__args_position(args, is_wide, a->outer[i]);
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_position(args, is_wide, a->inner[i]);
}

static void add_numbers(ga_args *args, bool is_wide, const ga_conv *c, size_t count) {
  const size_t numbers[] = {count, c->batch, c->channels, c->results, c->groups};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    ga__args_position(args, is_wide, (int64_t)numbers[i]);
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *a = &c->axes[i];
    const size_t axis[] = {a->image,  a->filter,   a->result,
                           a->stride, a->dilation, a->before};
    for (size_t k = 0; k < sizeof axis / sizeof *axis; k++)
      ga__args_position(args, is_wide, (int64_t)axis[k]);
  }
  add_array(args, is_wide, &c->image);
  add_array(args, is_wide, &c->filters);
  add_array(args, is_wide, &c->result);
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_position(args, is_wide, c->places[i]);
}

int ga__conv_direct(const ga_conv *c) {
  const direct_spec spec = {(unsigned char)c->typecode, (unsigned char)c->role,
                            !ga__conv_is_narrow(c), c->is_unshared};
  const ga_conv_array *const list[] = {
      ga__conv_output(c), c->role == GA_CONV_IMAGE ? &c->result : &c->image,
      c->role == GA_CONV_FILTERS ? &c->result : &c->filters};
  const size_t count = ga__conv_count(c);
  gpukernel *kernel;
  ga_args args = {0};
  if (count == 0)
    return GA_NO_ERROR;
  GA_TRY(ga__kernel_kept(&kernel, c->context, write_source, &spec, sizeof spec));
  for (unsigned int i = 0; i < 3; i++)
    ga__args_pointer(&args, list[i]->data, list[i]->offset, i > 0);
  add_numbers(&args, spec.is_wide, c, count);
  return ga__kernel_launch_items(kernel, &args, count,
                                 c->context->info.is_cpu ? 16 : 256,
                                 128 * (size_t)c->context->info.processors);
}
