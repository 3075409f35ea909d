/* Common start of scan kernels, over the macros that scan_source.c defines. */

#define SC_PARAMETERS                                                                  \
  GLOBAL_MEM SC_OUT *out, ga_size out_off, GLOBAL_MEM const SC_IN *x, ga_size x_off,   \
      GLOBAL_MEM SC_PART *part, ga_size part_off, SC_INT rows, SC_INT across,          \
      SC_INT length, SC_INT chunk, SC_INT chunks, ga_int mode, ga_ssize xs,            \
      ga_ssize os, ga_ssize xc, ga_ssize oc SC_AXES
#define SC_BEGIN part = (GLOBAL_MEM SC_PART *)((GLOBAL_MEM char *)part + part_off)

/* Pointers to the line `row` of the outer axes. */
#define SC_LINE                                                                        \
  GLOBAL_MEM const char *xp = (GLOBAL_MEM const char *)x + x_off;                      \
  GLOBAL_MEM char *op = (GLOBAL_MEM char *)out + out_off;                              \
  {                                                                                    \
    SC_INT rest = row;                                                                 \
    SC_OUTER_OFFSETS                                                                   \
  }
