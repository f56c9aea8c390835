#define _POSIX_C_SOURCE 200809L

#include "faulty_vfs.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_SIZE = 4096 };

/// The synced content of a file.
typedef struct image {
    struct image *next;
    /// The path, which is empty after the file was deleted. Connections that have the file open keep using it.
    char *path;
    unsigned char *bytes;
    sqlite3_int64 size;
    /// Whether a failed sync has lost the page, for each page.
    bool *lost;
    sqlite3_int64 lost_count;
} image;

struct faulty_disk {
    faulty_disk *next;
    char *path;
    image *images;
    /// The number of open files, plus one until the disk is detached.
    int reference_count;
    bool is_off;

    unsigned operations;
    uint64_t first, count, call_count, failure_count;
    int result;
};

/// An open file of a faulty disk. The system's file follows it in memory.
typedef struct {
    sqlite3_file file;
    faulty_disk *disk;
    image *image;
} faulty_file;

static sqlite3_vfs *system_vfs;
static sqlite3_vfs faulty_vfs;
/// Guards the disks and their content.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static faulty_disk *disks;
/// Whether this thread's last lock failed by a fault. The thread then retries without a real wait.
static _Thread_local bool was_refused_lock;

static void *allocate(sqlite3_int64 size) {
    void *memory = calloc(1, size > 0 ? (size_t)size : 1);
    if (memory == NULL) abort();
    return memory;
}

static char *copy(const char *text) {
    return strcpy(allocate((sqlite3_int64)strlen(text) + 1), text);
}

static sqlite3_int64 smaller(sqlite3_int64 left, sqlite3_int64 right) {
    return left < right ? left : right;
}

static sqlite3_int64 page_count(sqlite3_int64 size) {
    return (size + PAGE_SIZE - 1) / PAGE_SIZE;
}

static sqlite3_file *base(sqlite3_file *file) {
    return (sqlite3_file *)((faulty_file *)file + 1);
}

// MARK: Disks (the caller holds the mutex)

static faulty_disk *find_disk(const char *path) {
    for (faulty_disk *disk = disks; disk != NULL; disk = disk->next) {
        size_t length = strlen(disk->path);
        if (strncmp(path, disk->path, length) != 0) continue;
        const char *suffix = path + length;
        if (*suffix == 0 || strcmp(suffix, "-wal") == 0 || strcmp(suffix, "-journal") == 0) return disk;
    }
    return NULL;
}

static void release(faulty_disk *disk) {
    disk->reference_count -= 1;
    if (disk->reference_count > 0) return;
    for (image *image = disk->images, *next; image != NULL; image = next) {
        next = image->next;
        free(image->path);
        free(image->bytes);
        free(image->lost);
        free(image);
    }
    free(disk->path);
    free(disk);
}

static image *find_image(faulty_disk *disk, const char *path) {
    for (image *image = disk->images; image != NULL; image = image->next) {
        if (strcmp(image->path, path) == 0) return image;
    }
    return NULL;
}

/// Returns the result with which the call must fail, or SQLITE_OK if it may proceed.
static int fault(faulty_disk *disk, unsigned operation) {
    if (disk->is_off) return SQLITE_IOERR;
    if ((disk->operations & operation) == 0) return SQLITE_OK;
    disk->call_count += 1;
    if (disk->call_count < disk->first || disk->call_count - disk->first >= disk->count) return SQLITE_OK;
    disk->failure_count += 1;
    if (disk->result != FAULTY_POWER_CUT) return disk->result;
    disk->is_off = true;
    return SQLITE_IOERR;
}

// MARK: Durable content (the caller holds the mutex)

/// Reads the current content of a file. The caller frees the bytes.
static int read_whole(sqlite3_file *system_file, unsigned char **bytes, sqlite3_int64 *size) {
    int result = system_file->pMethods->xFileSize(system_file, size);
    if (result != SQLITE_OK) return result;
    *bytes = allocate(*size);
    result = *size > 0 ? system_file->pMethods->xRead(system_file, *bytes, (int)*size, 0) : SQLITE_OK;
    if (result != SQLITE_OK) free(*bytes);
    return result;
}

static bool is_page_synced(const image *image, const unsigned char *bytes, sqlite3_int64 size, sqlite3_int64 page) {
    sqlite3_int64 start = page * PAGE_SIZE, length = smaller(PAGE_SIZE, size - start);
    return start + length <= image->size && memcmp(bytes + start, image->bytes + start, (size_t)length) == 0;
}

/// Replaces the content of a page by its synced content, and by zeros beyond the synced size.
static void revert_page(const image *image, unsigned char *bytes, sqlite3_int64 size, sqlite3_int64 page) {
    sqlite3_int64 start = page * PAGE_SIZE, length = smaller(PAGE_SIZE, size - start);
    sqlite3_int64 synced = smaller(length, image->size - start);
    memset(bytes + start, 0, (size_t)length);
    if (synced > 0) memcpy(bytes + start, image->bytes + start, (size_t)synced);
}

static void replace_image(image *image, unsigned char *bytes, sqlite3_int64 size) {
    free(image->bytes);
    image->bytes = bytes;
    image->size = size;
}

static bool is_lost(const image *image, sqlite3_int64 page) {
    return page < image->lost_count && image->lost[page];
}

static int sync_image(image *image, sqlite3_file *system_file) {
    unsigned char *bytes;
    sqlite3_int64 size;
    int result = read_whole(system_file, &bytes, &size);
    if (result != SQLITE_OK) return result;
    for (sqlite3_int64 page = 0; page < page_count(size); page++) {
        if (is_lost(image, page)) revert_page(image, bytes, size, page);
    }
    replace_image(image, bytes, size);
    return SQLITE_OK;
}

static void lose_unsynced(image *image, sqlite3_file *system_file) {
    unsigned char *bytes;
    sqlite3_int64 size;
    if (read_whole(system_file, &bytes, &size) != SQLITE_OK) return;
    sqlite3_int64 count = page_count(size);
    bool *lost = allocate(count);
    for (sqlite3_int64 page = 0; page < count; page++) {
        lost[page] = is_lost(image, page) || !is_page_synced(image, bytes, size, page);
    }
    free(image->lost);
    image->lost = lost;
    image->lost_count = count;
    free(bytes);
}

static void find_again(image *image, sqlite3_int64 offset, sqlite3_int64 length) {
    sqlite3_int64 end = smaller(image->lost_count, page_count(offset + length));
    for (sqlite3_int64 page = offset / PAGE_SIZE; page < end; page++) image->lost[page] = false;
}

/// SplitMix64 (https://prng.di.unimi.it/splitmix64.c).
static uint64_t next_random(uint64_t *seed) {
    uint64_t value = (*seed += 0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

/// Returns whether unsynced data survives by chance.
static bool is_kept(uint64_t *seed) {
    return *seed != 0 && next_random(seed) % 2 == 0;
}

/// Rewrites a closed file to the content that survived a power cut.
static int restore_image(image *image, uint64_t *seed) {
    int descriptor = open(image->path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return SQLITE_IOERR;
    sqlite3_int64 present = lseek(descriptor, 0, SEEK_END);
    sqlite3_int64 size = is_kept(seed) ? present : image->size;
    unsigned char *bytes = allocate(present > size ? present : size);
    bool is_done = present >= 0 && pread(descriptor, bytes, (size_t)present, 0) == present;
    for (sqlite3_int64 page = 0; page < page_count(size); page++) {
        if (is_lost(image, page) || !is_kept(seed)) revert_page(image, bytes, size, page);
    }
    is_done = is_done && ftruncate(descriptor, size) == 0 && pwrite(descriptor, bytes, (size_t)size, 0) == size;
    close(descriptor);
    replace_image(image, bytes, size);
    image->lost_count = 0;
    return is_done ? SQLITE_OK : SQLITE_IOERR;
}

// MARK: Methods of a file

static int faulty_close(sqlite3_file *file) {
    int result = base(file)->pMethods->xClose(base(file));
    pthread_mutex_lock(&mutex);
    release(((faulty_file *)file)->disk);
    pthread_mutex_unlock(&mutex);
    return result;
}

static int faulty_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    pthread_mutex_lock(&mutex);
    int result = fault(((faulty_file *)file)->disk, FAULTY_READ);
    if (result == SQLITE_OK) result = base(file)->pMethods->xRead(base(file), bytes, count, offset);
    pthread_mutex_unlock(&mutex);
    return result;
}

static int faulty_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    faulty_file *self = (faulty_file *)file;
    pthread_mutex_lock(&mutex);
    bool was_off = self->disk->is_off;
    int result = fault(self->disk, FAULTY_WRITE);
    int written = result == SQLITE_OK ? count : was_off ? 0 : count / 2;
    if (written > 0) {
        int written_result = base(file)->pMethods->xWrite(base(file), bytes, written, offset);
        if (result == SQLITE_OK) result = written_result;
        find_again(self->image, offset, written);
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 size) {
    pthread_mutex_lock(&mutex);
    int result = fault(((faulty_file *)file)->disk, FAULTY_TRUNCATE);
    if (result == SQLITE_OK) result = base(file)->pMethods->xTruncate(base(file), size);
    pthread_mutex_unlock(&mutex);
    return result;
}

static int faulty_sync(sqlite3_file *file, int flags) {
    faulty_file *self = (faulty_file *)file;
    (void)flags;
    pthread_mutex_lock(&mutex);
    int result = fault(self->disk, FAULTY_SYNC);
    if (result == SQLITE_OK) {
        result = sync_image(self->image, base(file));
    } else if (!self->disk->is_off) {
        lose_unsynced(self->image, base(file));
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

static int faulty_file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return base(file)->pMethods->xFileSize(base(file), size);
}

static int try_lock(sqlite3_file *file) {
    pthread_mutex_lock(&mutex);
    int result = fault(((faulty_file *)file)->disk, FAULTY_LOCK);
    pthread_mutex_unlock(&mutex);
    was_refused_lock = result == SQLITE_BUSY;
    return result;
}

static int faulty_lock(sqlite3_file *file, int level) {
    int result = level > SQLITE_LOCK_SHARED ? try_lock(file) : SQLITE_OK;
    return result == SQLITE_OK ? base(file)->pMethods->xLock(base(file), level) : result;
}

static int faulty_unlock(sqlite3_file *file, int level) {
    return base(file)->pMethods->xUnlock(base(file), level);
}

static int faulty_check_reserved_lock(sqlite3_file *file, int *result) {
    return base(file)->pMethods->xCheckReservedLock(base(file), result);
}

static int faulty_file_control(sqlite3_file *file, int operation, void *argument) {
    return base(file)->pMethods->xFileControl(base(file), operation, argument);
}

static int faulty_sector_size(sqlite3_file *file) {
    return base(file)->pMethods->xSectorSize(base(file));
}

static int faulty_device_characteristics(sqlite3_file *file) {
    return base(file)->pMethods->xDeviceCharacteristics(base(file));
}

static int faulty_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **memory) {
    return base(file)->pMethods->xShmMap(base(file), region, size, extend, memory);
}

static int faulty_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    int result = flags == (SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE) ? try_lock(file) : SQLITE_OK;
    return result == SQLITE_OK ? base(file)->pMethods->xShmLock(base(file), offset, count, flags) : result;
}

static void faulty_shm_barrier(sqlite3_file *file) {
    base(file)->pMethods->xShmBarrier(base(file));
}

static int faulty_shm_unmap(sqlite3_file *file, int must_delete) {
    return base(file)->pMethods->xShmUnmap(base(file), must_delete);
}

/// Version 2 has no memory mapping, which would bypass the faults.
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = faulty_close,
    .xRead = faulty_read,
    .xWrite = faulty_write,
    .xTruncate = faulty_truncate,
    .xSync = faulty_sync,
    .xFileSize = faulty_file_size,
    .xLock = faulty_lock,
    .xUnlock = faulty_unlock,
    .xCheckReservedLock = faulty_check_reserved_lock,
    .xFileControl = faulty_file_control,
    .xSectorSize = faulty_sector_size,
    .xDeviceCharacteristics = faulty_device_characteristics,
    .xShmMap = faulty_shm_map,
    .xShmLock = faulty_shm_lock,
    .xShmBarrier = faulty_shm_barrier,
    .xShmUnmap = faulty_shm_unmap,
};

// MARK: Methods of the VFS

/// Creates an image of a file, whose content counts as synced.
static int make_image(faulty_disk *disk, const char *path, sqlite3_file *system_file) {
    unsigned char *bytes;
    sqlite3_int64 size;
    int result = read_whole(system_file, &bytes, &size);
    if (result != SQLITE_OK) return result;
    image *made = allocate(sizeof(image));
    *made = (image){.next = disk->images, .path = copy(path), .bytes = bytes, .size = size};
    disk->images = made;
    return SQLITE_OK;
}

static int open_on_disk(faulty_disk *disk, const char *path, sqlite3_file *file, int flags, int *out_flags) {
    int result = fault(disk, FAULTY_OPEN);
    if (result != SQLITE_OK) return result;
    result = system_vfs->xOpen(system_vfs, path, base(file), flags, out_flags);
    if (result != SQLITE_OK) return result;
    // An image exists already if the file was open before.
    if (find_image(disk, path) == NULL) result = make_image(disk, path, base(file));
    if (result != SQLITE_OK) {
        base(file)->pMethods->xClose(base(file));
        return result;
    }
    *(faulty_file *)file = (faulty_file){.file = {.pMethods = &methods}, .disk = disk, .image = find_image(disk, path)};
    disk->reference_count += 1;
    return SQLITE_OK;
}

static int faulty_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs;
    file->pMethods = NULL;
    pthread_mutex_lock(&mutex);
    faulty_disk *disk = path != NULL ? find_disk(path) : NULL;
    int result = disk != NULL ? open_on_disk(disk, path, file, flags, out_flags) : SQLITE_OK;
    pthread_mutex_unlock(&mutex);
    return disk != NULL ? result : system_vfs->xOpen(system_vfs, path, file, flags, out_flags);
}

static int faulty_delete(sqlite3_vfs *vfs, const char *path, int must_sync_folder) {
    (void)vfs;
    pthread_mutex_lock(&mutex);
    faulty_disk *disk = find_disk(path);
    int result = disk != NULL ? fault(disk, FAULTY_DELETE) : SQLITE_OK;
    if (result == SQLITE_OK) result = system_vfs->xDelete(system_vfs, path, must_sync_folder);
    image *image = result == SQLITE_OK && disk != NULL ? find_image(disk, path) : NULL;
    if (image != NULL) image->path[0] = 0;
    pthread_mutex_unlock(&mutex);
    return result;
}

static int faulty_sleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    bool is_needless = was_refused_lock;
    was_refused_lock = false;
    return is_needless ? microseconds : system_vfs->xSleep(system_vfs, microseconds);
}

static void register_vfs(void) {
    system_vfs = sqlite3_vfs_find(NULL);  // initializes SQLite too
    if (system_vfs == NULL) return;
    faulty_vfs = *system_vfs;
    faulty_vfs.pNext = NULL;
    faulty_vfs.zName = "faulty";
    faulty_vfs.szOsFile += (int)sizeof(faulty_file);
    faulty_vfs.xOpen = faulty_open;
    faulty_vfs.xDelete = faulty_delete;
    faulty_vfs.xSleep = faulty_sleep;
    sqlite3_vfs_register(&faulty_vfs, 1);
}

// MARK: For tests

faulty_disk *faulty_disk_attach(const char *database) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_vfs);
    if (system_vfs == NULL) return NULL;
    char *path = allocate(faulty_vfs.mxPathname + 1);
    int result = faulty_vfs.xFullPathname(&faulty_vfs, database, faulty_vfs.mxPathname, path);
    // SQLITE_OK_SYMLINK: a link was followed.
    if ((result & 0xff) != SQLITE_OK) {
        free(path);
        return NULL;
    }
    faulty_disk *disk = allocate(sizeof(faulty_disk));
    disk->path = path;
    disk->reference_count = 1;
    pthread_mutex_lock(&mutex);
    disk->next = disks;
    disks = disk;
    pthread_mutex_unlock(&mutex);
    return disk;
}

void faulty_disk_detach(faulty_disk *disk) {
    pthread_mutex_lock(&mutex);
    for (faulty_disk **link = &disks; *link != NULL; link = &(*link)->next) {
        if (*link != disk) continue;
        *link = disk->next;
        break;
    }
    release(disk);
    pthread_mutex_unlock(&mutex);
}

void faulty_disk_fail(faulty_disk *disk, unsigned operations, uint64_t first, uint64_t count, int result) {
    pthread_mutex_lock(&mutex);
    disk->operations = operations;
    disk->first = first;
    disk->count = count;
    disk->result = result;
    disk->call_count = 0;
    disk->failure_count = 0;
    pthread_mutex_unlock(&mutex);
}

void faulty_disk_heal(faulty_disk *disk) {
    pthread_mutex_lock(&mutex);
    disk->operations = 0;
    pthread_mutex_unlock(&mutex);
}

uint64_t faulty_disk_failure_count(faulty_disk *disk) {
    pthread_mutex_lock(&mutex);
    uint64_t count = disk->failure_count;
    pthread_mutex_unlock(&mutex);
    return count;
}

void faulty_disk_cut_power(faulty_disk *disk) {
    pthread_mutex_lock(&mutex);
    disk->is_off = true;
    pthread_mutex_unlock(&mutex);
}

int faulty_disk_restore_power(faulty_disk *disk, uint64_t seed) {
    pthread_mutex_lock(&mutex);
    int result = disk->reference_count == 1 ? SQLITE_OK : SQLITE_MISUSE;
    for (image *image = disk->images; image != NULL && result == SQLITE_OK; image = image->next) {
        if (image->path[0] != 0) result = restore_image(image, &seed);
    }
    if (result == SQLITE_OK) {
        disk->is_off = false;
        disk->operations = 0;
    }
    pthread_mutex_unlock(&mutex);
    return result;
}
