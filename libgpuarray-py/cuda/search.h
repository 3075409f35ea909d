/* Where NVIDIA's libraries may lie. */
#ifndef GA_CUDA_SEARCH_H
#define GA_CUDA_SEARCH_H

#include "c/system/dynload.h"

/* Adds the files called <file>.<version> ("libnvrtc.so") in wheels, toolkits and the
 * system's folders, in this order and newest first in each. `wheel` is the folder that
 * its wheel had up to CUDA 12. */
int ga__cuda_search(char ***paths, const char *file, const char *wheel);

/* 13 of ".../libnvrtc.so.13.0.88", 0 if the name does not tell. */
int ga__cuda_file_major(const char *path);

/* Describes a file by its name, its size and its first bytes. False if it cannot be
 * read. */
bool ga__cuda_file_id(char *out, size_t size, const char *path);

#endif
