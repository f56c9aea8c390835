#ifndef FAULTY_VFS_H
#define FAULTY_VFS_H

#include <stdint.h>

/// A VFS of SQLite for tests (https://www.sqlite.org/vfs.html): the system's own, with disks that fail on purpose.
///
/// A faulty disk holds one database with its write-ahead log and its journal; all other files go straight to the system. It keeps in
/// memory what has been synced of each file: that is what is left of it when the power is cut. Nothing is really synced. What it
/// does not model: a deletion is durable at once, and the shared memory of the log's index passes by.
///
/// All functions may be called on any thread.
typedef struct faulty_disk faulty_disk;

/// What can fail: a bit each.
enum {
    FAULTY_OPEN = 1,
    FAULTY_READ = 2,
    /// A write that fails has written its first half.
    FAULTY_WRITE = 4,
    FAULTY_TRUNCATE = 8,
    /// A sync that fails loses what it should have made durable, as Linux does (https://lwn.net/Articles/752063/): it can still be
    /// read, but later syncs pass it over until it is written again.
    FAULTY_SYNC = 16,
    FAULTY_DELETE = 32,
    /// Taking a lock against others, of the file or of the log's index. While locks fail, SQLite's waiting for them takes no time.
    FAULTY_LOCK = 64,
};

/// In the place of a result code: the power is cut at that call.
#define FAULTY_POWER_CUT (-1)

/// Makes a disk of the database at that path, which is not open in this process. What is in the files counts as synced. The first
/// disk makes this VFS the one that the process opens databases with from then on.
/// Returns NULL when the path cannot be made absolute.
faulty_disk *faulty_disk_attach(const char *database);

/// Lets go of the disk; files that are still open keep working, or failing, as they do.
void faulty_disk_detach(faulty_disk *disk);

/// Lets calls of those operations fail: from the `first` on, counted from 1 from now on, `count` of them. Replaces an earlier fault.
/// `result`: SQLite's (extended) result code, or FAULTY_POWER_CUT.
void faulty_disk_fail(faulty_disk *disk, unsigned operations, uint64_t first, uint64_t count, int result);

/// Lets no call fail any more, as long as there is power.
void faulty_disk_heal(faulty_disk *disk);

/// How many calls have failed by the last `faulty_disk_fail`.
uint64_t faulty_disk_failure_count(faulty_disk *disk);

/// From now on every call fails.
void faulty_disk_cut_power(faulty_disk *disk);

/// After a cut, when the files are closed: leaves in them what was synced, and lets them work again. Of the rest each 4-KiB page,
/// and a file's length, is kept or lost as the seed decides; with 0 all is lost.
/// Returns a result code of SQLite: SQLITE_MISUSE when a file is open, SQLITE_IOERR when one cannot be written.
int faulty_disk_restore_power(faulty_disk *disk, uint64_t seed);

#endif
