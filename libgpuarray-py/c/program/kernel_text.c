/* What the texts of generated kernels have in common. */
#include "c/program/kernel_text.h"

void ga__text_array(ga_strbuf *text, ga_strbuf *starts, bool is_read, const char *type,
                    const char *name) {
  const char *read = is_read ? "const " : "";
  ga__strbuf_addf(text, "GLOBAL_MEM %s%s *%s, ga_size %s_off, ", read, type, name,
                  name);
  ga__strbuf_addf(starts,
                  "  %s = (GLOBAL_MEM %s%s *)((GLOBAL_MEM %schar *)%s + %s_off);\n",
                  name, read, type, read, name, name);
}

int ga__text_finish(ga_source *out, const char *stem, const char *functions,
                    ga_strbuf *text) {
  int status = ga__strbuf_status(text);
  if (status == GA_NO_ERROR) {
    ga__kernel_name(out->name, stem, text->text);
    out->is_closed = true;
    ga__strbuf_add(&out->body, functions ? functions : "");
    ga__strbuf_addf(&out->body, "KERNEL void %s", out->name);
    ga__strbuf_addn(&out->body, text->text, text->length);
    status = ga__strbuf_status(&out->body);
  }
  ga__strbuf_clear(text);
  return status;
}
