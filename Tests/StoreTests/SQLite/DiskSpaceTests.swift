import TestSupport
import Testing

@testable import SQLiteStore

@Suite(.safetyNet)
struct DiskSpaceTests {
    @Test(
        arguments: [
            (256 << 20, 1 << 40, false), (255 << 20, 1 << 40, true), (2 << 20, 24 << 20, false), (1 << 20, 24 << 20, true), (0, 0, false),
        ] as [(UInt64, UInt64, Bool)])
    func `A disk is scarce below 256 MiB, a small one below a twentieth`(free: UInt64, total: UInt64, isScarce: Bool) {
        #expect(DiskSpace(free: free, total: total).isScarce == isScarce)
    }

    @Test func `the space of a file's disk is read, and is nil for a missing file`() throws {
        let space = try #require(DiskSpace(ofFile: "/"))
        #expect(space.total > space.free)
        #expect(DiskSpace(ofFile: "/no/such/file")?.total == nil)
    }
}
