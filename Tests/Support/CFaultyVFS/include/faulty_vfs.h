#ifndef FAULTY_VFS_H
#define FAULTY_VFS_H

#include <stdint.h>

/// A VFS of SQLite for tests (https://www.sqlite.org/vfs.html): the system's VFS, with disks that fail on purpose.
///
/// A faulty disk contains one database with its WAL and its rollback journal. The system's VFS handles all other files. The disk keeps
/// the synced content of each file in memory, and a power cut leaves this content. The disk syncs no file to the real disk. Two things
/// are not simulated: a deletion is durable at once, and the shared memory of the WAL index does not fail.
///
/// All functions may be called on any thread.
typedef struct faulty_disk faulty_disk;

/// The operations that can fail, one bit each.
enum {
    FAULTY_OPEN = 1,
    FAULTY_READ = 2,
    /// A failing write writes its first half.
    FAULTY_WRITE = 4,
    FAULTY_TRUNCATE = 8,
    /// A failing sync loses the data that it should have made durable, as on Linux (https://lwn.net/Articles/752063/). The data can
    /// still be read, but later syncs skip it until it is written again.
    FAULTY_SYNC = 16,
    FAULTY_DELETE = 32,
    /// An exclusive lock of the file or of the WAL index. While locks fail, SQLite's waits for them take no time.
    FAULTY_LOCK = 64,
};

/// The result that cuts the power at the failing call.
#define FAULTY_POWER_CUT (-1)

/// Creates a disk for the database at that path, which must not be open in this process. The content of the files counts as synced.
/// The first disk makes this VFS the default of the process.
/// Returns NULL if the path cannot be made absolute.
faulty_disk *faulty_disk_attach(const char *database);

/// Releases the disk. Files that are still open keep working, or failing, as before.
void faulty_disk_detach(faulty_disk *disk);

/// Makes `count` calls of those operations fail, beginning with the call number `first`, counted from 1 at this call. Replaces an
/// earlier fault. `result` is SQLite's (extended) result code, or FAULTY_POWER_CUT.
void faulty_disk_fail(faulty_disk *disk, unsigned operations, uint64_t first, uint64_t count, int result);

/// Makes all calls succeed again, unless the power was cut.
void faulty_disk_heal(faulty_disk *disk);

/// Returns the number of calls that have failed since the last `faulty_disk_fail`.
uint64_t faulty_disk_failure_count(faulty_disk *disk);

/// Makes every later call fail.
void faulty_disk_cut_power(faulty_disk *disk);

/// Restores the power after a cut, once all files are closed. The files keep their synced content. The seed decides for each
/// unsynced 4-KiB page, and for the length of each file, whether it survives. With 0 none does.
/// Returns a result code of SQLite: SQLITE_MISUSE if a file is open, SQLITE_IOERR if a file cannot be written.
int faulty_disk_restore_power(faulty_disk *disk, uint64_t seed);

#endif
