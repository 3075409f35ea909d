/* Folders that only the user and root can change, fit to keep code in.
 *
 * Each level is opened with openat, without following links, and checked by its
 * descriptor, so that what was checked is what is used (no time-of-check race). */
#ifndef GA_C_PRIVATE_FOLDER_H
#define GA_C_PRIVATE_FOLDER_H

#include "c/base/strbuf.h"

/* As gpuarray_private_folder (util.h), but leaves the thread's message alone: the
 * reason of GA_VALUE_ERROR or GA_SYS_ERROR is added to `why`, if not NULL. */
int ga__private_folder(int *folder, const char *path, bool make, ga_strbuf *why);

#endif
