/* Plans that are recorded whole, as where graphs choose, on a device: they give what
 * the same plans give in stages. The backend is told that its graphs do, and the
 * commands run one by one, each side as its condition says. */
#include "choosing_plans.h"
#include "device_context.h"

/* ---- random plans ---- */

#define DEEPEST 4
#define MOST 600

/* The conditions that steps are added under. */
typedef struct path {
  unsigned int n, conditions[DEEPEST];
  int wanted[DEEPEST];
} path;

/* A value or a condition, with the path under which it is computed. */
typedef struct made {
  unsigned int number;
  path under;
} made;

typedef struct builder {
  GpuPlan *p;
  unsigned long state;
  made values[MOST], conditions[MOST];
  unsigned int n_values, n_conditions;
  path now;
} builder;

static unsigned int draw(builder *b, unsigned int n) {
  b->state = b->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned int)(b->state >> 33) % n;
}

static bool holds(const path *p, unsigned int condition, int wanted) {
  for (unsigned int i = 0; i < p->n; i++)
    if (p->conditions[i] == condition && p->wanted[i] == wanted)
      return true;
  return false;
}

/* Whether it is computed wherever steps are added now. */
static bool is_there(const builder *b, const made *m) {
  for (unsigned int i = 0; i < m->under.n; i++)
    if (!holds(&b->now, m->under.conditions[i], m->under.wanted[i]))
      return false;
  return true;
}

static unsigned int any_value(builder *b) {
  const made *m;
  do
    m = &b->values[draw(b, b->n_values)];
  while (!is_there(b, m));
  return m->number;
}

static unsigned int keep_value(builder *b, unsigned int number) {
  CHECK(b->n_values < MOST);
  b->values[b->n_values++] = (made){number, b->now};
  return number;
}

/* A new condition, or one that there is. */
static unsigned int any_condition(builder *b) {
  const made *m = b->n_conditions ? &b->conditions[draw(b, b->n_conditions)] : NULL;
  if (m != NULL && draw(b, 2) && is_there(b, m) && !holds(&b->now, m->number, 1) &&
      !holds(&b->now, m->number, 0))
    return m->number;
  const unsigned int c = is_positive(b->p, any_value(b));
  CHECK(b->n_conditions < MOST);
  b->conditions[b->n_conditions++] = (made){c, b->now};
  return c;
}

static void under(const builder *b) {
  CHECK_OK(GpuPlan_when(b->p, b->now.n, b->now.conditions, b->now.wanted));
}

static unsigned int add_value(builder *b);

/* One side of a choice: its value, which may be one from outside. */
static unsigned int add_side(builder *b, unsigned int condition, int wanted) {
  b->now.conditions[b->now.n] = condition;
  b->now.wanted[b->now.n++] = wanted;
  under(b);
  unsigned int value = any_value(b);
  for (unsigned int i = draw(b, 3); i > 0; i--)
    value = add_value(b);
  b->now.n--;
  under(b);
  return value;
}

static unsigned int add_choice(builder *b) {
  unsigned int out;
  const unsigned int c = any_condition(b);
  const unsigned int then = add_side(b, c, 1), other = add_side(b, c, 0);
  CHECK_OK(GpuPlan_choose(b->p, &out, "if", c, then, other));
  return out;
}

static unsigned int add_value(builder *b) {
  static const char *const expressions[] = {"y = x + 1", "y = -x", "y = x / 2 - 1"};
  const unsigned int kind = draw(b, 6);
  const int form = GP_INDEX_SLICE + GP_INDEX_STEP;
  unsigned int out = 0, minus;
  if (kind < 3 && b->now.n < 3)
    return keep_value(b, add_choice(b));
  if (kind == 3) {
    CHECK_OK(GpuPlan_int(b->p, &minus, -1));
    CHECK_OK(GpuPlan_index(b->p, &out, "backwards", any_value(b), 1, &form, &minus));
    return keep_value(b, out);
  }
  return keep_value(b,
                    apply(b->p, expressions[draw(b, 3)], any_value(b), GA_FLOAT, -1));
}

static GpuPlan *build(gpucontext *ctx, unsigned long seed) {
  builder b = {.state = seed};
  unsigned int x, y, last[2] = {0};
  CHECK_OK(GpuPlan_new(&b.p, ctx, "test"));
  CHECK_OK(GpuPlan_input(b.p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(b.p, &y, GA_FLOAT, 1, 0));
  keep_value(&b, x);
  keep_value(&b, y);
  for (unsigned int i = 0; i < 8; i++)
    last[i % 2] = add_value(&b);
  CHECK_OK(GpuPlan_output(b.p, last[0]));
  CHECK_OK(GpuPlan_output(b.p, last[1]));
  return b.p;
}

static void test_random_plans(gpucontext *ctx) {
  const size_t n = LENGTH;
  unsigned int whole = 0;
  for (unsigned long seed = 1; seed <= 300; seed++) {
    gpuplan_info info;
    choose(ctx, false);
    GpuPlan *in_stages = build(ctx, seed), *at_once = build(ctx, seed);
    for (int call = 0; call < 4; call++) {
      GpuArray a = {0}, b = {0};
      float x[LENGTH], y[LENGTH], right[2][LENGTH], found[2][LENGTH];
      for (int i = 0; i < LENGTH; i++) {
        x[i] = (float)((call * 7 + i * 3) % 5) - 2.25f;
        y[i] = (float)((call * 5 + i) % 7) - 3.5f;
      }
      CHECK_OK(GpuArray_copy_from_host(&a, ctx, x, GA_FLOAT, 1, &n, NULL));
      CHECK_OK(GpuArray_copy_from_host(&b, ctx, y, GA_FLOAT, 1, &n, NULL));
      const GpuArray *const ins[2] = {&a, &b};
      choose(ctx, false);
      run(right, in_stages, ins);
      choose(ctx, true);
      run(found, at_once, ins);
      CHECK(memcmp(right, found, sizeof right) == 0);
      GpuArray_clear(&a);
      GpuArray_clear(&b);
    }
    CHECK_OK(GpuPlan_info(at_once, &info));
    whole += info.n_binds == 1;
    GpuPlan_free(in_stages);
    GpuPlan_free(at_once);
  }
  choose(ctx, false);
  CHECK(whole > 100);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_device();
  plain = ctx->backend;
  test_random_plans(ctx);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
