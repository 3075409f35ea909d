/* Disk cache of compiled programs: one file an entry, named by the hash of its key.
 *
 * Lock-free: temporary file, fsync, atomic rename. An entry holds its whole key and a
 * checksum, verified on read: a damaged or foreign entry is a miss. Folder and files
 * must not be writable by others (private_folder.h). Least recently used entries are
 * evicted above GPUARRAY_CACHE_SIZE bytes (default 2 GiB; 0 turns the cache off). */
#ifndef GA_C_CACHE_H
#define GA_C_CACHE_H

#include "c/base/hash.h"
#include "c/base/strbuf.h"

enum ga_cache_answer { GA_CACHE_MISS, GA_CACHE_HIT, GA_CACHE_DAMAGED };

/* Cache folder: GPUARRAY_CACHE_DIR, else $XDG_CACHE_HOME/gpuarray, else
 * ~/.cache/gpuarray. Made with ga__alloc; NULL where the cache is off ("" in the
 * variable, size 0, no home). */
char *ga__cache_folder(void);

/* Adds the start of a key: library version, backend, compile target (architecture, and
 * compiler version where known). The source comes next. */
void ga__cache_key(ga_strbuf *out, const char *backend, const char *made_for);

/* Look-up. `key` is the full text (source, options, architecture, compiler); a NULL
 * `folder` is a cache turned off. On a hit the caller owns *bytes (ga__alloc). Never
 * fails: an unreadable entry is a miss. */
enum ga_cache_answer ga__cache_read(void **bytes, size_t *size, const char *folder,
                                    const char *key, size_t key_size);
/* Look-up in the read-only folder that came with the library: no check of the owner,
 * since whoever can write there can change the library too. */
enum ga_cache_answer ga__cache_read_shared(void **bytes, size_t *size,
                                           const char *folder, const char *key,
                                           size_t key_size);
/* Look-up by the hash of a key; the caller owns *key too. */
enum ga_cache_answer ga__cache_read_hashed(void **bytes, size_t *size, char **key,
                                           size_t *key_size, const char *folder,
                                           ga_hash key_hash);
/* Stores an entry; false if it could not, which is no error. */
bool ga__cache_write(const char *folder, const char *key, size_t key_size,
                     const void *bytes, size_t size);
/* Stores into a folder that is to be shipped with the library; no check of the
 * owner. */
bool ga__cache_write_shared(const char *folder, const char *key, size_t key_size,
                            const void *bytes, size_t size);

#endif
