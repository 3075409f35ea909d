/* Convolution, and its gradient by the image, which is a convolution of the gradient
 * for each phase of the strides: CV_IS_GRADIENT. A tile is CV_VECTORS vectors of
 * places, which may be of several rows and images; the last vector of a row begins
 * earlier, so that it ends with the row. A unit is a tile of CV_ROWS results, which are
 * sums over `channels`. A pass goes through its tiles for each block of results: their
 * rows of x stay in the cache, and the filters are read once in a pass. */
#include "conv_cpu_words.cl.h"

/* Of an axis: the first place of the phase, `n` places, where they begin in x and out,
 * and the step to the next one. Place m is element m * stride + p - before. */
#if CV_IS_GRADIENT
#define CV_PHASES(axis) stride##axis
#define CV_PHASE(axis)                                                                 \
  const ga_int p##axis = rest % stride##axis;                                          \
  const ga_int m##axis = CV_CEIL(before##axis - p##axis, stride##axis);                \
  rest /= stride##axis;                                                                \
  n##axis = (length##axis - 1 + before##axis - p##axis + stride##axis) / stride##axis; \
  n##axis -= m##axis;                                                                  \
  x_first##axis = m##axis - from##axis;                                                \
  o_first##axis = m##axis * stride##axis + p##axis - before##axis;
#define CV_ROW_STEP(axis) 1
#define CV_O_STEP(axis) (stride##axis * o##axis)
#else
#define CV_PHASES(axis) 1
#define CV_PHASE(axis)
#define CV_ROW_STEP(axis) stride##axis
#define CV_O_STEP(axis) o##axis
#endif
/* True if no row of the tile meets the image by a line of taps. */
#define CV_IS_PADDING(line)                                                            \
  (last0 + shift0[line] < 0 || least0 + shift0[line] >= rows0 ||                       \
   last1 + shift1[line] < 0 || least1 + shift1[line] >= rows1)

KERNEL_SIZED(1, 1)
void CV_NAME(GLOBAL_MEM CV_S *out, ga_size out_off, GLOBAL_MEM const CV_T *GA_APART x,
             ga_size x_off, GLOBAL_MEM const CV_T *GA_APART w, ga_size w_off,
             CV_TAPS_PARAMETERS, ga_int batch, ga_int groups, ga_int channels,
             ga_int results, ga_int pass, ga_int rows0, ga_int rows1, ga_int before0,
             ga_int before1, ga_int before2, ga_int length0, ga_int length1,
             ga_int length2, ga_int from0, ga_int from1, ga_int from2, ga_int xb,
             ga_int xg, ga_int xc, ga_int wg, ga_int wr, ga_int wc, ga_int ob,
             ga_int og, ga_int o_r, ga_int o0, ga_int o1, ga_int o2) {
  KERNEL_BEGIN;
  LOCAL_MEM ga_int x_at[CV_TAPS], w_at[CV_TAPS];
  LOCAL_MEM ga_int line_at[CV_TAPS + 1], shift0[CV_TAPS], shift1[CV_TAPS];
  out = CV_AT(CV_S, out, out_off);
  x = CV_AT(const CV_T, x, x_off);
  w = CV_AT(const CV_T, w, w_off);
  const ga_int most0 = CV_CEIL(length0, CV_PHASES(0));
  const ga_int most1 = CV_CEIL(length1, CV_PHASES(1));
  const ga_int across = CV_CEIL(CV_CEIL(length2, CV_PHASES(2)), CV_LANES);
  const ga_int tiles = CV_CEIL(batch * most0 * most1 * across, CV_VECTORS);
  const ga_int blocks = CV_CEIL(results, CV_ROWS);
  const ga_int phases = CV_PHASES(0) * CV_PHASES(1) * CV_PHASES(2);
  const ga_int units = groups * phases * tiles * blocks;
  const ga_int part = CV_CEIL(units, (ga_int)GDIM_0);
  const ga_int first = (ga_int)GID_0 * part, last = CV_LEAST(first + part, units);
  ga_int outer = first / (tiles * blocks), rest = first % (tiles * blocks);
  ga_int begin = rest / (pass * blocks) * pass;
  rest -= begin * blocks;
  ga_int block = rest / CV_LEAST(pass, tiles - begin);
  ga_int tile = begin + rest % CV_LEAST(pass, tiles - begin);
  /* Of the phase; the table has `many` channels. Taps are in lines of the last axis. */
  ga_int phase = -1, taps = 0, lines = 0, many = 1;
  ga_int n0 = length0, n1 = length1, n2 = length2;
  ga_int x_first0 = 0, x_first1 = 0, x_first2 = 0;
  ga_int o_first0 = 0, o_first1 = 0, o_first2 = 0;
  /* Of the tile: its lines, those that meet no padding only; elements `skip` to `stop`
   * of a vector are stored. The next tile begins at vector k of row (at0, at1) of image
   * b. */
  ga_int made = -1, k = 0, at1 = 0, at0 = 0, b = 0;
  ga_ssize x_from[CV_VECTORS], o_from[CV_VECTORS];
  ga_int skip[CV_VECTORS], stop[CV_VECTORS], line_first = 0, line_last = 0;
  for (ga_int unit = first; unit < last; unit++) {
    if (outer % phases != phase) {
      phase = rest = outer % phases;
      made = -1;
      taps = 0;
      CV_PHASE(2)
      CV_PHASE(1)
      CV_PHASE(0)
      lines = 0;
      CV_OVER (f0, filter0)
        CV_OVER (f1, filter1) {
          line_at[lines] = taps;
          shift0[lines] = f0 * dilation0;
          shift1[lines] = f1 * dilation1;
#if CV_IS_GRADIENT
          const ga_int b0 = p0 - f0 * dilation0, b1 = p1 - f1 * dilation1;
          if (b0 % stride0 != 0 || b1 % stride1 != 0)
            continue;
          shift0[lines] = b0 / stride0;
          shift1[lines] = b1 / stride1;
#endif
          CV_OVER (f2, filter2) {
#if CV_IS_GRADIENT
            const ga_int b2 = p2 - f2 * dilation2;
            if (b2 % stride2 != 0)
              continue;
            x_at[taps] = shift0[lines] * x0 + shift1[lines] * x1 + b2 / stride2;
#else
            x_at[taps] = CV_TAP_X;
#endif
            w_at[taps++] = CV_TAP_W;
          }
          lines++;
        }
      line_at[lines] = taps;
      if (n0 <= 0 || n1 <= 0 || n2 <= 0)
        taps = lines = line_at[0] = 0;
      many = taps == 0 || taps > CV_SOME ? 1 : CV_LEAST(CV_SOME / taps, channels);
      for (ga_int i = taps; i < many * taps; i++) {
        x_at[i] = x_at[i - taps] + xc;
        w_at[i] = w_at[i - taps] + wc;
      }
    }
    if (tile != made) {
      if (tile == 0 || tile != made + 1) {
        rest = tile * CV_VECTORS;
        k = rest % across;
        rest /= across;
        at1 = rest % most1;
        rest /= most1;
        at0 = rest % most0;
        b = rest / most0;
      }
      made = tile;
      ga_int least0 = most0, least1 = most1, last0 = 0, last1 = 0;
      CV_OVER (v, CV_VECTORS) {
        const ga_int from2 = k * CV_LANES, least = n2 > CV_LANES ? n2 - CV_LANES : 0;
        const ga_int at2 = CV_LEAST(from2, least);
        const int is_none = b >= batch || at0 >= n0 || at1 >= n1;
        skip[v] = from2 - at2;
        stop[v] = is_none ? 0 : CV_LEAST(n2 - at2, CV_LANES);
        least0 = CV_LEAST(least0, at0), last0 = at0 > last0 ? at0 : last0;
        least1 = CV_LEAST(least1, at1), last1 = at1 > last1 ? at1 : last1;
        x_from[v] = x_first0 * x0 + x_first1 * x1 + x_first2;
        if (!is_none)
          x_from[v] +=
              b * xb + at0 * CV_ROW_STEP(0) * x0 + at1 * CV_ROW_STEP(1) * x1 + at2;
        o_from[v] = b * ob + o_first0 * o0 + at0 * CV_O_STEP(0) + o_first1 * o1 +
                    at1 * CV_O_STEP(1) + o_first2 * o2 + at2 * CV_O_STEP(2);
        if (++k == across) {
          k = 0;
          if (++at1 == most1) {
            at1 = 0;
            if (++at0 == most0) {
              at0 = 0;
              b++;
            }
          }
        }
      }
      least0 = x_first0 + from0 + least0 * CV_ROW_STEP(0);
      last0 = x_first0 + from0 + last0 * CV_ROW_STEP(0);
      least1 = x_first1 + from1 + least1 * CV_ROW_STEP(1);
      last1 = x_first1 + from1 + last1 * CV_ROW_STEP(1);
      line_first = 0, line_last = lines;
      while (line_first < lines && CV_IS_PADDING(line_first))
        line_first++;
      while (line_last > line_first && CV_IS_PADDING(line_last - 1))
        line_last--;
    }
    /* Where all channels' lines are needed, one loop goes through several channels. */
    const int is_whole = line_first == 0 && line_last == lines;
    const ga_int at_once = is_whole ? many : 1;
    const ga_int group = outer / phases, top = block * CV_ROWS;
    CV_VECTOR acc[CV_ROWS][CV_VECTORS];
    GLOBAL_MEM const CV_T *row[CV_ROWS], *image[CV_VECTORS];
    CV_EACH (r, CV_ROWS) {
      row[r] = w + group * wg + CV_LEAST(top + r, results - 1) * wr;
      CV_EACH (v, CV_VECTORS)
        acc[r][v] = 0;
    }
    CV_EACH (v, CV_VECTORS)
      image[v] = x + (group * xg + x_from[v]);
    for (ga_int c = 0; c < channels; c += at_once) {
      const ga_int end =
          is_whole ? taps * CV_LEAST(many, channels - c) : line_at[line_last];
      for (ga_int t = line_at[line_first]; t < end; t++) {
        const ga_ssize to_x = x_at[t], to_w = w_at[t];
        CV_VECTOR element[CV_VECTORS];
        CV_EACH (v, CV_VECTORS)
          element[v] = CV_VLOAD(image[v] + to_x);
        CV_EACH (r, CV_ROWS) {
          const CV_T factor = row[r][to_w];
          CV_EACH (v, CV_VECTORS)
            acc[r][v] += factor * element[v];
        }
      }
      CV_EACH (v, CV_VECTORS)
        image[v] += at_once * xc;
      CV_EACH (r, CV_ROWS)
        row[r] += at_once * wc;
    }
    CV_T sums[CV_ROWS * CV_VECTORS * CV_LANES];
    CV_EACH (r, CV_ROWS)
      CV_EACH (v, CV_VECTORS)
        CV_VSTORE(acc[r][v], sums + (r * CV_VECTORS + v) * CV_LANES);
    CV_OVER (r, CV_LEAST(CV_ROWS, results - top))
      CV_OVER (v, CV_VECTORS) {
        const CV_T *sum = sums + (r * CV_VECTORS + v) * CV_LANES;
        GLOBAL_MEM CV_S *to = out + (group * og + (top + r) * o_r + o_from[v]);
#if !CV_IS_NARROW
        if (skip[v] == 0 && stop[v] == CV_LANES && CV_O_STEP(2) == 1) {
          CV_VSTORE(CV_VLOAD(sum), to);
          continue;
        }
#endif
        for (ga_int i = skip[v]; i < stop[v]; i++)
          to[i * CV_O_STEP(2)] = CV_STORE(sum[i]);
      }
    if (++tile == CV_LEAST(begin + pass, tiles)) {
      if (++block == blocks) {
        block = 0;
        begin += pass;
        if (begin >= tiles) {
          begin = 0;
          outer++;
        }
      }
      tile = begin;
    }
  }
}
