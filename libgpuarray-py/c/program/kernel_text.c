/* Helpers for generated kernel source. */
#include "c/program/kernel_text.h"

#include <stdio.h>
#include <string.h>

void ga__text_array(ga_strbuf *text, ga_strbuf *starts, bool is_read, const char *type,
                    const char *name) {
  const char *read = is_read ? "const " : "";
  ga__strbuf_addf(text, "GLOBAL_MEM %s%s *%s, ga_size %s_off, ", read, type, name,
                  name);
  ga__strbuf_addf(starts,
                  "%s = (GLOBAL_MEM %s%s *)((GLOBAL_MEM %schar *)%s + %s_off); ", name,
                  read, type, read, name, name);
}

void ga__text_add_parts(ga_strbuf *sb, const char *text, ga_text_part parts[],
                        unsigned int n) {
  static const char letters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  for (unsigned int k = 0; k < n; k++)
    if (ga__strbuf_status(&parts[k].text) != GA_NO_ERROR)
      sb->failed = true;
  while (*text != '\0' && !sb->failed) {
    const size_t length = strspn(text, letters), rest = strcspn(text + length, letters);
    unsigned int k = 0;
    while (k < n && (strlen(parts[k].name) != length ||
                     strncmp(parts[k].name, text, length) != 0))
      k++;
    if (k < n)
      ga__strbuf_add(sb, parts[k].text.text ? parts[k].text.text : "");
    const size_t own = k < n ? length : 0;
    ga__strbuf_addn(sb, text + own, length + rest - own);
    text += length + rest;
  }
  for (unsigned int k = 0; k < n; k++)
    ga__strbuf_clear(&parts[k].text);
}

/* Clears the text, and on failure the source. */
static int finished(ga_source *out, ga_strbuf *text, int status) {
  ga__strbuf_clear(text);
  if (status != GA_NO_ERROR)
    ga__strbuf_clear(&out->body);
  return status;
}

/* #undef for each #define after offset `from`: other kernels of a program may use the
 * same macros. */
static void add_undefinitions(ga_strbuf *sb, size_t from) {
  static const char directive[] = "#define ";
  const size_t end = sb->length;
  for (const char *at; (at = strstr(sb->text + from, directive)) != NULL;) {
    char name[64];
    at += sizeof directive - 1;
    from = (size_t)(at - sb->text);
    if (from > end)
      return;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " (\n"), at);
    ga__strbuf_addf(sb, "#undef %s\n", name);
    if (sb->failed)
      return;
  }
}

int ga__text_finish_named(ga_source *out, const char *stem, const char *preamble,
                          const char *words, ga_strbuf *text) {
  ga_strbuf *body = &out->body;
  int status = ga__strbuf_status(text);
  if (status == GA_NO_ERROR) {
    if (preamble != NULL && preamble[0] != '\0')
      ga__strbuf_addf(body, "%s\n", preamble);
    const size_t own = body->length;
    ga__strbuf_add(body, text->text);
    status = ga__strbuf_status(body);
    if (status == GA_NO_ERROR) {
      ga__kernel_name(out->name, stem, body->text);
      body->length = own;
      ga__strbuf_fill(body, words, out->name);
      ga__strbuf_add(body, text->text);
      status = ga__strbuf_status(body);
    }
    if (status == GA_NO_ERROR) {
      add_undefinitions(body, own);
      status = ga__strbuf_status(body);
    }
  }
  return finished(out, text, status);
}

int ga__sources_count(ga_source *sources, unsigned int *n, int status) {
  ++*n;
  while (status != GA_NO_ERROR && *n > 0)
    ga__strbuf_clear(&sources[--*n].body);
  return status;
}
