/* Search paths of NVIDIA's libraries. */
#ifndef GA_CUDA_SEARCH_H
#define GA_CUDA_SEARCH_H

#include "c/system/dynload.h"

/* Adds all <file>.<version> ("libnvrtc.so") of wheels, toolkits and system folders, in
 * this order, newest first in each. `wheel` is the wheel's folder up to CUDA 12,
 * `other_wheel` that of another wheel with the file, or NULL. */
int ga__cuda_search(char ***paths, const char *file, const char *wheel,
                    const char *other_wheel);

/* Major version: 13 of ".../libnvrtc.so.13.0.88"; 0 if unknown. */
int ga__cuda_file_major(const char *path);

/* Fingerprint of a file: name, size, and hash of its first bytes. False if
 * unreadable. */
bool ga__cuda_file_id(char *out, size_t size, const char *path);

#endif
