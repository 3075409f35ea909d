/* The text of a chain of kernels. */
#include "c/tape/chain_source.h"

#include <string.h>

#include "c/program/kernel_text.h"
#include "c/tape/kernels/chain.inc"

bool ga__chain_takes(const gpukernel *k) {
  const char *body = ga__kernel_body(k);
  return body != NULL && k->is_closed && strstr(body, "\nKERNEL void ") != NULL &&
         strstr(body, "GA_DECL_SHARED") == NULL && strlen(body) < GA_CHAIN_TEXT;
}

/* Adds the argument whose word of a call is number `i`. */
static void add_argument(ga_strbuf *sb, const ga_arg *arg, unsigned int i) {
  if (arg->kind == GA_ARG_MEMORY)
    ga__strbuf_addf(sb, "(GLOBAL_MEM void *)ga_c_b[ga_c_w[%u]]", i);
  else if (arg->kind == GA_ARG_OFFSET || arg->number == 'i')
    ga__strbuf_addf(sb, "ga_c_w[%u]", i);
  else if (arg->size == sizeof(float))
    ga__strbuf_addf(sb, "as_float((ga_uint)ga_c_w[%u])", i);
  else
    ga__strbuf_addf(sb, "as_double(ga_c_w[%u])", i);
}

/* Adds the function that calls kernel `i` with the words of a call. */
static void add_call(ga_strbuf *sb, unsigned int i, const gpukernel *k,
                     const ga_launch *launch) {
  ga__strbuf_addf(sb,
                  "\nstatic void ga_c_call%u(GLOBAL_MEM const ga_ulong *ga_c_w, "
                  "GLOBAL_MEM char **ga_c_b) {\n%s(",
                  i, k->name);
  for (unsigned int a = 0; a < launch->n_args; a++) {
    ga__strbuf_add(sb, a > 0 ? ", " : "");
    add_argument(sb, &launch->args[a], a);
  }
  ga__strbuf_add(sb, ");\n}\n");
}

int ga__chain_source(ga_source *out, unsigned int n, gpukernel *const *kernels,
                     const ga_launch *const *launches, unsigned int n_buffers) {
  ga_text_part parts[] = {{.name = "CH_KERNELS"},
                          {.name = "CH_BUFFERS"},
                          {.name = "CH_PLACES"},
                          {.name = "CH_CALLS"}};
  ga_strbuf text = {0};
  for (unsigned int i = 0; i < n; i++) {
    ga__strbuf_add(&parts[0].text, ga__kernel_body(kernels[i]));
    add_call(&parts[0].text, i, kernels[i], launches[i]);
    ga__strbuf_addf(&parts[3].text,
                    "case %u: ga_c_call%u(ga_c_w + 1, ga_c_b); ga_c_w += %u; break;\n",
                    i, i, 1 + launches[i]->n_args);
  }
  for (unsigned int b = 0; b < n_buffers; b++) {
    ga__strbuf_addf(&parts[1].text, ", GLOBAL_MEM char *ga_c_b%u, ga_size ga_c_o%u", b,
                    b);
    ga__strbuf_addf(&parts[2].text, "%sga_c_b%u + ga_c_o%u", b > 0 ? ", " : "", b, b);
  }
  ga__text_add_parts(&text, chain_text, parts, sizeof parts / sizeof *parts);
  snprintf(out->title, sizeof out->title, "chain of %u kernels", n);
  return ga__text_finish_named(out, "chain", NULL, "#define CH_NAME %\n", &text);
}
