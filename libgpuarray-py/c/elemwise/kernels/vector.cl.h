/* Part of a GPU's kernels: the operands' vectors are read, each element computed, and
 * the results' vectors written. */
EL_READS(EL_LOAD)
#pragma unroll
for (int ga_i_k = 0; ga_i_k < EL_VECTOR; ga_i_k++) {
  EL_VALUES(EL_OF_VECTOR)
  EL_EXPRESSION
  EL_RESULTS(EL_OF_VECTOR)
}
EL_WRITES(EL_STORE)
