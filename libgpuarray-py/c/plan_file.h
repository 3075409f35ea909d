/* What a plan's file looks like.
 *
 * A head (the mark, then format, length of the body and its hash) and a body: the
 * plan's name, its values in the order of their numbers, the outputs. A step stands
 * where the first value that it makes would, so that reading a file makes the calls
 * that built the plan, and values get their numbers back. Integers are 8 bytes, the
 * lowest first; a text is its length with a NUL that is not stored, 0 for NULL. */
#ifndef GA_C_PLAN_FILE_H
#define GA_C_PLAN_FILE_H

#define GA_PLAN_MARK "gpuplan\n"
#define GA_PLAN_FORMAT 2 /* of the body; a reader takes its own and older ones */

enum ga_plan_part {
  GA_PLAN_INPUT = 1,
  GA_PLAN_CONSTANT,
  GA_PLAN_STEP,
  GA_PLAN_END,
  GA_PLAN_INT_INPUT /* since format 2 */
};

#endif
