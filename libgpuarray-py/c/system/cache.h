/* Compiled programs on disk: one file an entry, named by the hash of all it depends on.
 *
 * Lock-free: a temporary file, fsync, atomic rename. An entry stores its whole key and
 * a hash of its bytes, and is verified on read: a damaged or foreign one is a miss. The
 * folder is one that nobody else can change (see private_folder.h; another one is not
 * used), and so is each file. It is bounded by GPUARRAY_CACHE_SIZE bytes (2 GiB if not
 * set; 0 turns it off): the oldest entries go first. */
#ifndef GA_C_CACHE_H
#define GA_C_CACHE_H

#include "c/base/hash.h"
#include "c/base/strbuf.h"

enum ga_cache_answer { GA_CACHE_MISS, GA_CACHE_HIT, GA_CACHE_DAMAGED };

/* The folder of a process: GPUARRAY_CACHE_DIR, else $XDG_CACHE_HOME/gpuarray, else
 * ~/.cache/gpuarray. Made with ga__alloc; NULL where the cache is off ("" in the
 * variable, a size of 0, no home). */
char *ga__cache_folder(void);

/* Adds what a key begins with: the library, the backend, and what code is compiled for
 * (architecture, and the compiler where that is known). The source comes next. */
void ga__cache_key(ga_strbuf *out, const char *backend, const char *made_for);

/* `key` is the full text (source, options, architecture, compiler); `folder` NULL is a
 * cache turned off. On a hit *bytes is made with ga__alloc and owned by the caller.
 * Never fails: what cannot be read is a miss. */
enum ga_cache_answer ga__cache_read(void **bytes, size_t *size, const char *folder,
                                    const char *key, size_t key_size);
/* The same of a folder that came with the library: anybody's is read, for whoever can
 * write there can change the library too, and nothing in it is touched. */
enum ga_cache_answer ga__cache_read_shared(void **bytes, size_t *size,
                                           const char *folder, const char *key,
                                           size_t key_size);
/* The same for the hash of a key; *key, made with ga__alloc too, is what it is of. */
enum ga_cache_answer ga__cache_read_hashed(void **bytes, size_t *size, char **key,
                                           size_t *key_size, const char *folder,
                                           ga_hash key_hash);
/* False if it could not be stored, which is no error. */
bool ga__cache_write(const char *folder, const char *key, size_t key_size,
                     const void *bytes, size_t size);
/* The same to a folder that is to come with the library, whoever owns it. */
bool ga__cache_write_shared(const char *folder, const char *key, size_t key_size,
                            const void *bytes, size_t size);

#endif
