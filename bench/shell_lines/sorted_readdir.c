/*
 * Lists folders by name, in the order of bytes, which `/etc/ld.so.preload` lays over the C library's readdir(). Each
 * file system has an order of its own, and commands such as `find | tail -1` print it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The entries of an open folder. A program may hold several folders open. */
struct listing {
  DIR *folder;
  struct dirent **entries;
  size_t count, next;
  struct listing *following;
};

static struct listing *listings;

static int by_name(const void *left, const void *right) {
  return strcmp((*(struct dirent *const *)left)->d_name, (*(struct dirent *const *)right)->d_name);
}

static struct listing *read_all(DIR *folder) {
  struct dirent *(*read_next)(DIR *) = dlsym(RTLD_NEXT, "readdir");
  struct listing *listing = calloc(1, sizeof *listing);
  struct dirent *entry;
  while ((entry = read_next(folder))) {
    listing->entries = realloc(listing->entries, (listing->count + 1) * sizeof entry);
    listing->entries[listing->count] = malloc(entry->d_reclen);
    memcpy(listing->entries[listing->count++], entry, entry->d_reclen);
  }
  if (listing->count) qsort(listing->entries, listing->count, sizeof entry, by_name);
  listing->folder = folder;
  listing->following = listings;
  return listings = listing;
}

static void forget(DIR *folder) {
  for (struct listing **link = &listings; *link; link = &(*link)->following) {
    struct listing *listing = *link;
    if (listing->folder != folder) continue;
    *link = listing->following;
    while (listing->count) free(listing->entries[--listing->count]);
    free(listing->entries);
    free(listing);
    return;
  }
}

struct dirent *readdir(DIR *folder) {
  struct listing *listing = listings;
  while (listing && listing->folder != folder) listing = listing->following;
  if (!listing) listing = read_all(folder);
  return listing->next < listing->count ? listing->entries[listing->next++] : NULL;
}

struct dirent64 *readdir64(DIR *folder) {
  return (struct dirent64 *)readdir(folder);
}

void rewinddir(DIR *folder) {
  void (*rewind_folder)(DIR *) = dlsym(RTLD_NEXT, "rewinddir");
  forget(folder);
  rewind_folder(folder);
}

int closedir(DIR *folder) {
  int (*close_folder)(DIR *) = dlsym(RTLD_NEXT, "closedir");
  forget(folder);
  return close_folder(folder);
}
