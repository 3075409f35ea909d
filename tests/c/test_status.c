/* Statuses, messages, texts, hashes, types, and the search for libraries. */
#include "check.h"

#include <stdint.h>

#include "c/base/dtype.h"
#include "c/base/hash.h"
#include "c/base/strbuf.h"
#include "c/system/dynload.h"

static void test_status_texts(void) {
  CHECK(strcmp(gpuarray_error_str(GA_NO_ERROR), "No error") == 0);
  CHECK(strcmp(gpuarray_error_str(-1), "Unknown GA error") == 0);
  CHECK(strcmp(gpuarray_error_str(99), "Unknown GA error") == 0);
  for (int status = 0; status <= GA_FORK_ERROR; status++)
    CHECK(strcmp(gpuarray_error_str(status), "Unknown GA error") != 0);
}

static void test_message(void) {
  CHECK(GA_FAIL(GA_VALUE_ERROR, "got %d", 3) == GA_VALUE_ERROR);
  CHECK(strcmp(gpuarray_error_text(), "got 3") == 0);
  CHECK(ga__fail_within(GA_VALUE_ERROR, "step %d", 7) == GA_VALUE_ERROR);
  CHECK(strcmp(gpuarray_error_text(), "step 7: got 3") == 0);
  GA_FAIL(GA_VALUE_ERROR, "(%s)", gpuarray_error_text());
  CHECK(strcmp(gpuarray_error_text(), "(step 7: got 3)") == 0);
}

static void test_long_message_is_cut(void) {
  char *text = calloc(20001, 1);
  memset(text, 'x', 20000);
  GA_FAIL(GA_VALUE_ERROR, "%s", text);
  size_t length = strlen(gpuarray_error_text());
  CHECK(length > 1000 && length < 20000);
  CHECK(strcmp(gpuarray_error_text() + length - 4, "x...") == 0);
  ga__fail_within(GA_VALUE_ERROR, "within");
  CHECK(strncmp(gpuarray_error_text(), "within: xxx", 11) == 0);
  CHECK(strlen(gpuarray_error_text()) == length);
  ga__fail_within(GA_VALUE_ERROR, "%s", text);
  CHECK(strlen(gpuarray_error_text()) == length);
  free(text);
}

static void test_allocation(void) {
  CHECK(ga__alloc(SIZE_MAX, 2) == NULL);
  CHECK_TEXT("no memory");
  CHECK(ga__realloc(NULL, SIZE_MAX, 2) == NULL);
  ga__alloc_fail_at(1);
  void *first = ga__alloc(0, 8), *second = ga__alloc(1, 8), *third = ga__strdup("x");
  CHECK(first != NULL && second == NULL && third != NULL);
  ga__alloc_fail_at(-1);
  ga__free(first);
  ga__free(third);
}

static void test_strbuf(void) {
  ga_strbuf text = {0};
  CHECK_OK(ga__strbuf_status(&text));
  ga__strbuf_add(&text, "");
  CHECK(text.text != NULL && text.length == 0);
  for (int i = 0; i < 1000; i++)
    ga__strbuf_addf(&text, "%d,", i);
  CHECK(text.length == 10 * 2 + 90 * 3 + 900 * 4);
  CHECK(strlen(text.text) == text.length);
  CHECK(strncmp(text.text, "0,1,2,", 6) == 0);
  ga__strbuf_addn(&text, "abcdef", 2);
  CHECK(strcmp(text.text + text.length - 6, "999,ab") == 0);
  ga__strbuf_clear(&text);
  CHECK(text.text == NULL);

  ga__alloc_fail_at(0);
  ga__strbuf_add(&text, "lost");
  ga__strbuf_add(&text, "also lost");
  CHECK_STATUS(GA_MEMORY_ERROR, ga__strbuf_status(&text));
  ga__strbuf_clear(&text);
  CHECK_OK(ga__strbuf_status(&text));
}

static bool same(ga_hash x, ga_hash y) {
  return x.a == y.a || x.b == y.b;
}

/* Every single-bit change of texts of many lengths changes both halves. */
static void test_hash(void) {
  unsigned char text[64] = "a text of which each bit matters, and its length as well";
  ga_hash zero = {0, 0}, one = {1, 0};
  for (size_t size = 0; size < sizeof text; size++) {
    ga_hash whole = ga__hash(text, size, zero);
    CHECK(!same(whole, ga__hash(text, size, one)));
    CHECK(!same(whole, ga__hash(text, size + 1, zero)));
    for (size_t bit = 0; bit < 8 * size; bit++) {
      text[bit / 8] ^= (unsigned char)(1u << bit % 8);
      CHECK(!same(whole, ga__hash(text, size, zero)));
      text[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
  }
  char digits[33];
  ga__hash_text(digits, (ga_hash){0x0123456789abcdef, 1});
  CHECK(strcmp(digits, "0123456789abcdef0000000000000001") == 0);
}

static void test_dtypes(void) {
  CHECK(gpuarray_get_elsize(GA_INT) == 4);
  CHECK(gpuarray_get_elsize(GA_HALF) == 2);
  CHECK(gpuarray_get_elsize(GA_DELIM) == 0);
  CHECK(gpuarray_get_elsize(18) == 0);
  CHECK(gpuarray_get_elsize(-7) == 0);
  CHECK(gpuarray_get_elsize(GA_BUFFER) == sizeof(void *));
  CHECK(gpuarray_get_type(512)->typecode == -1);
  CHECK(gpuarray_get_type(GA_NBASE)->typecode == -1);
  CHECK(strcmp(gpuarray_get_type(GA_FLOAT)->cluda_name, "ga_float") == 0);
  for (int code = 0; code < GA_ENDVEC; code++) {
    int named = gpuarray_get_type(code)->typecode;
    CHECK(named == code || named == -1);
  }
  CHECK(strcmp(gpuarray_get_type(300)->cluda_name, "ga_double2") == 0);
  CHECK(strcmp(gpuarray_get_type(285)->cluda_name, "ga_uint16") == 0);
  CHECK(gpuarray_get_elsize(258) == 3 && gpuarray_get_elsize(307) == 32);

  CHECK(ga__dtype_kind(GA_BOOL) == 'b' && ga__dtype_kind(GA_HALF) == 'f');
  CHECK(ga__dtype_kind(GA_SIZE) == 0 && ga__dtype_kind(400) == 0);
  CHECK(strcmp(ga__dtype_name(GA_USHORT), "uint16") == 0);
  CHECK(strcmp(ga__dtype_name(18), "type 18") == 0);
  CHECK(ga__dtype_work(GA_HALF) == GA_FLOAT && ga__dtype_work(GA_BYTE) == GA_BYTE);
  CHECK_OK(ga__dtype_check(GA_ULONG, "empty"));
  CHECK_STATUS(GA_VALUE_ERROR, ga__dtype_check(GA_SSIZE, "empty"));
  CHECK_STATUS(GA_VALUE_ERROR, ga__dtype_check(GA_CQUAD, "empty"));
  CHECK_TEXT("empty: complex256");
}

static void touch(const char *folder, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  if (file)
    fclose(file);
}

static void test_search(void) {
  char folder[] = "/tmp/gpuarray-test-XXXXXX", pattern[64], command[96];
  CHECK(mkdtemp(folder) != NULL);
  touch(folder, "libx.so.9.1");
  touch(folder, "libx.so.12");
  touch(folder, "libx.so");
  char **paths = NULL;
  snprintf(pattern, sizeof pattern, "%s/libx.so*", folder);
  CHECK_OK(ga__dynload_add(&paths, "libx.so.1"));
  CHECK_OK(ga__dynload_glob(&paths, pattern));
  CHECK_OK(ga__dynload_glob(&paths, "/no/such/folder/*"));
  setenv("GPUARRAY_WHEEL_PATH", "/no/such:", 1);
  CHECK_OK(ga__dynload_wheels(&paths, "libx.so*"));
  setenv("GPUARRAY_WHEEL_PATH", folder, 1);
  CHECK_OK(ga__dynload_wheels(&paths, "libx.so.9*"));
  unsetenv("GPUARRAY_WHEEL_PATH");
  CHECK_OK(ga__dynload_wheels(&paths, "libx.so*"));
  const char *const order[] = {"libx.so.1", ".12", ".9.1", "libx.so", ".9.1"};
  size_t n = 0;
  for (; paths && paths[n]; n++)
    CHECK(n < 5 &&
          strcmp(paths[n] + strlen(paths[n]) - strlen(order[n]), order[n]) == 0);
  CHECK(n == 5);

  ga_strbuf report = {0};
  CHECK(ga__dynload_open((const char *const *)paths, &report) == NULL);
  CHECK(report.text && strstr(report.text, "libx.so.12: not opened: ") != NULL);
  ga__strbuf_clear(&report);
  ga__dynload_paths_free(paths);
  ga__dynload_paths_free(NULL);

  const char *const libraries[] = {"libnone.so.1", "libm.so.6", NULL};
  void *library = ga__dynload_open(libraries, &report);
  if (library) {
    CHECK(ga__dynload_symbol(library, "cos") != NULL);
    CHECK(ga__dynload_symbol(library, "no_such_function") == NULL);
    CHECK(strstr(report.text, "libm.so.6: opened") != NULL);
  }
  ga__strbuf_clear(&report);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
}

static void test_a_prefix_is_put_once(void) {
  GA_FAIL(GA_VALUE_ERROR, "gemm: sizes differ");
  CHECK(ga__fail_within(GA_VALUE_ERROR, "gemm") == GA_VALUE_ERROR);
  CHECK(strcmp(gpuarray_error_text(), "gemm: sizes differ") == 0);
  ga__fail_within(GA_VALUE_ERROR, "gem");
  CHECK(strcmp(gpuarray_error_text(), "gem: gemm: sizes differ") == 0);
}

int main(void) {
  test_a_prefix_is_put_once();
  test_status_texts();
  test_message();
  test_long_message_is_cut();
  test_allocation();
  test_strbuf();
  test_hash();
  test_dtypes();
  test_search();
  return check_result("status");
}
