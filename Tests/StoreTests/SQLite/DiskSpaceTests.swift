import TestSupport
import Testing

@testable import SQLiteStore

@Suite(.safetyNet)
struct DiskSpaceTests {
    @Test(
        arguments: [
            (256 << 20, 1 << 40, false), (255 << 20, 1 << 40, true), (2 << 20, 24 << 20, false), (1 << 20, 24 << 20, true), (0, 0, false),
        ] as [(UInt64, UInt64, Bool)])
    func `a disk is scarce below 256 MiB, a small one below a twentieth`(free: UInt64, total: UInt64, isScarce: Bool) {
        #expect(DiskSpace(free: free, total: total).isScarce == isScarce)
    }

    @Test(
        arguments: [
            (.max, 1_000, 4_096), (1_001, 1_000, 4_096), (0, 0, 0), (0, 0, 4_096), (10, 1_000, 0), (1 << 60, 1 << 62, 4_096),
        ] as [(UInt64, UInt64, UInt64)])
    func `figures that cannot be are unknown`(free: UInt64, total: UInt64, blockByteCount: UInt64) {
        #expect(DiskSpace(freeBlockCount: free, blockCount: total, blockByteCount: blockByteCount)?.total == nil)
        #expect(DiskSpace(freeBlockCount: 10, blockCount: 1_000, blockByteCount: 4_096)?.free == 40_960)
    }

    @Test func `the space of a file's disk is read, and is nil for a missing file`() throws {
        let space = try #require(DiskSpace(ofFile: "/"))
        #expect(space.total > space.free)
        #expect(DiskSpace(ofFile: "/no/such/file")?.total == nil)
    }
}
