/* Connectionist temporal classification: minus the logarithm of the probability of the
 * labels, summed over all ways to align them with time, and its gradient. A block does
 * one sequence after the other, in logarithms.
 *
 * The states are the labels with a blank, class 0, around each: state s is label s / 2
 * if s is odd. `scratch` has for each block log(sum(exp)) of the classes at each time,
 * alpha at all times, or 2 without a gradient, and beta at 2; `links` has the next
 * state of the same class. */

#ifdef __CUDACC__
#define CT_BARRIER __syncthreads()
#else
#define CT_BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
#define CT_LOWEST ((CT_ACC) - INFINITY)
#define CT_CLASS(s) ((s) % 2 ? (CT_INT)row[(s) / 2 * label_step] : 0)
/* Logarithm of the probability of a class. */
#define CT_LOG(t, c) (CT_LOAD(in[(t) * at + (c) * ac]) - norms[t])
/* What may follow, or precede, two states away: another label. */
#define CT_SKIPS(s, other) ((s) % 2 && CT_CLASS(s) != CT_CLASS(other))
/* Logarithm of the sum of three exponentials. */
#define CT_SUM(out, a, b, c)                                                           \
  {                                                                                    \
    const CT_ACC most = fmax(fmax(a, b), c);                                           \
    out = most == CT_LOWEST                                                            \
              ? most                                                                   \
              : most + log(exp(a - most) + exp(b - most) + exp(c - most));             \
  }

KERNEL void CT_NAME(GLOBAL_MEM CT_ACC *costs, ga_size costs_off,
                    GLOBAL_MEM CT_TYPE *grad, ga_size grad_off,
                    GLOBAL_MEM const CT_TYPE *GA_APART in, ga_size in_off,
                    GLOBAL_MEM const ga_int *GA_APART labels, ga_size labels_off,
                    GLOBAL_MEM const ga_int *GA_APART lengths, ga_size lengths_off,
                    GLOBAL_MEM CT_ACC *scratch, ga_size scratch_off,
                    GLOBAL_MEM ga_int *links, ga_size links_off, CT_INT time,
                    CT_INT batch, CT_INT classes, CT_INT most_labels, CT_INT at,
                    CT_INT ab, CT_INT ac, CT_INT gt, CT_INT gb, CT_INT gc,
                    CT_INT label_row, CT_INT label_step, CT_INT length_step,
                    CT_INT cost_step) {
  KERNEL_BEGIN;
  costs = (GLOBAL_MEM CT_ACC *)((GLOBAL_MEM char *)costs + costs_off);
  grad = (GLOBAL_MEM CT_TYPE *)((GLOBAL_MEM char *)grad + grad_off);
  in = (GLOBAL_MEM const CT_TYPE *)((GLOBAL_MEM const char *)in + in_off);
  labels = (GLOBAL_MEM const ga_int *)((GLOBAL_MEM const char *)labels + labels_off);
  lengths = (GLOBAL_MEM const ga_int *)((GLOBAL_MEM const char *)lengths + lengths_off);
  scratch = (GLOBAL_MEM CT_ACC *)((GLOBAL_MEM char *)scratch + scratch_off);
  links = (GLOBAL_MEM ga_int *)((GLOBAL_MEM char *)links + links_off);
  const CT_INT lane = (CT_INT)LID_0, lanes = (CT_INT)LDIM_0;
  const CT_INT most_states = 2 * most_labels + 1;
  const CT_INT kept = CT_HAS_GRAD ? time : 2;
  scratch += (CT_INT)GID_0 * (time + (kept + 2) * most_states);
  links += (CT_INT)GID_0 * most_states;
  GLOBAL_MEM CT_ACC *norms = scratch, *alpha = norms + time;
  GLOBAL_MEM CT_ACC *beta = alpha + kept * most_states;
  GLOBAL_MEM const CT_TYPE *const first = in;
  GLOBAL_MEM CT_TYPE *const first_grad = grad;
  for (CT_INT b = (CT_INT)GID_0; b < batch; b += (CT_INT)GDIM_0) {
    GLOBAL_MEM const ga_int *row = labels + b * label_row;
    const CT_INT length = lengths[b * length_step];
    CT_INT n = 0;
    bool is_valid = length >= 0 && length <= time;
    for (; n < most_labels && row[n * label_step] >= 0; n++)
      is_valid = is_valid && row[n * label_step] > 0 && row[n * label_step] < classes;
    const CT_INT states = 2 * n + 1;
    in = first + b * ab;
    grad = first_grad + b * gb;
    if (is_valid) {
      for (CT_INT t = lane; t < length; t += lanes) {
        CT_ACC most = CT_LOWEST, sum = 0;
        for (CT_INT c = 0; c < classes; c++)
          most = fmax(most, CT_LOAD(in[t * at + c * ac]));
        for (CT_INT c = 0; c < classes; c++)
          sum += exp(CT_LOAD(in[t * at + c * ac]) - most);
        norms[t] = most + log(sum);
      }
      CT_BARRIER;
      for (CT_INT t = 0; t < length; t++) {
        GLOBAL_MEM CT_ACC *now = alpha + t % kept * most_states;
        GLOBAL_MEM const CT_ACC *before = alpha + (t + kept - 1) % kept * most_states;
        for (CT_INT s = lane; s < states; s += lanes) {
          CT_ACC way = s < 2 ? 0 : CT_LOWEST;
          if (t > 0) {
            const CT_ACC one = s > 0 ? before[s - 1] : CT_LOWEST;
            const CT_ACC two = s > 2 && CT_SKIPS(s, s - 2) ? before[s - 2] : CT_LOWEST;
            CT_SUM(way, before[s], one, two)
          }
          now[s] = way + CT_LOG(t, CT_CLASS(s));
        }
        CT_BARRIER;
      }
    }
    CT_ACC cost = NAN;
    if (is_valid && length == 0)
      cost = n == 0 ? 0 : INFINITY;
    else if (is_valid) {
      GLOBAL_MEM const CT_ACC *last = alpha + (length - 1) % kept * most_states;
      const CT_ACC label = states > 1 ? last[states - 2] : CT_LOWEST;
      CT_SUM(cost, last[states - 1], label, CT_LOWEST)
      cost = -cost;
    }
    if (lane == 0)
      costs[b * cost_step] = cost;
#if CT_HAS_GRAD
    /* Of what has no way there is no better one: the slope is 0. */
    const CT_INT end = cost < INFINITY ? length : 0;
    for (CT_INT i = lane; i < time * classes; i += lanes) {
      const CT_INT t = i / classes, c = i % classes;
      grad[t * gt + c * gc] = CT_STORE(t < end ? exp(CT_LOG(t, c)) : (CT_ACC)0);
    }
    /* Blanks are a chain of every second state. A label's first state leads the rest;
     * that is marked by a number below 0 in those. */
    for (CT_INT s = lane; s < states && end > 0; s += lanes) {
      CT_INT next = s + 2, is_first = 1;
      for (CT_INT other = 1; s % 2 && other < s; other += 2)
        is_first = is_first && CT_CLASS(other) != CT_CLASS(s);
      while (s % 2 && next < states && CT_CLASS(next) != CT_CLASS(s))
        next += 2;
      next = next < states ? next : states;
      links[s] = (ga_int)(is_first && (s % 2 || s == 0) ? next : -next);
    }
    for (CT_INT t = end - 1; t >= 0; t--) {
      GLOBAL_MEM CT_ACC *now = beta + t % 2 * most_states;
      GLOBAL_MEM const CT_ACC *after = beta + (t + 1) % 2 * most_states;
      GLOBAL_MEM const CT_ACC *there = alpha + t * most_states;
      for (CT_INT s = lane; s < states; s += lanes) {
        CT_ACC way = s > states - 3 ? 0 : CT_LOWEST;
        if (t + 1 < end) {
          const CT_ACC one = s + 1 < states ? after[s + 1] : CT_LOWEST;
          const CT_ACC two =
              s + 2 < states && CT_SKIPS(s, s + 2) ? after[s + 2] : CT_LOWEST;
          CT_SUM(way, after[s], one, two)
        }
        now[s] = way + CT_LOG(t, CT_CLASS(s));
      }
      CT_BARRIER;
      for (CT_INT s = lane; s < states; s += lanes) {
        if (links[s] < 0)
          continue;
        const CT_INT c = CT_CLASS(s);
        const CT_ACC own = CT_LOG(t, c);
        CT_ACC sum = 0;
        for (CT_INT k = s; k < states; k = links[k] < 0 ? -links[k] : links[k])
          sum += exp(there[k] + now[k] - own + cost);
        grad[t * gt + c * gc] = CT_STORE(exp(own) - sum);
      }
      CT_BARRIER;
    }
#endif
    CT_BARRIER;
  }
}
