/* Folders that nobody but the user and root can change: where code may be kept.
 *
 * Each folder of the path is opened below the one above it, without following links,
 * and is looked at by its descriptor, so that what was looked at is what is used. */
#ifndef GA_C_PRIVATE_FOLDER_H
#define GA_C_PRIVATE_FOLDER_H

#include "c/base/strbuf.h"

/* As gpuarray_private_folder, which util.h describes, but leaves the thread's text
 * alone: the reason of GA_VALUE_ERROR and GA_SYS_ERROR is added to `why`, if there is
 * one. */
int ga__private_folder(int *folder, const char *path, bool make, ga_strbuf *why);

#endif
