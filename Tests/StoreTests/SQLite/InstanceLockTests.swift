import SQLiteStore
import TestSupport
import Testing

/// Servers and tools that use the database files of one folder.
@Suite(.safetyNet) struct InstanceLockTests {
    @Test(arguments: [(false, false, true), (false, true, false), (true, false, false), (true, true, false)])
    func `a file is put into a folder only while nobody uses a database there`(
        firstReplaces: Bool, secondReplaces: Bool, isAllowed: Bool
    ) throws {
        let folder = try TemporaryFolder()
        let first = try InstanceLock(database: folder.path("one.sqlite"), replaces: firstReplaces)
        let second = try? InstanceLock(database: folder.path("two.sqlite"), replaces: secondReplaces)
        #expect((second != nil) == isAllowed)
        withExtendedLifetime(first) {}
    }

    @Test func `only one may use a database`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("push.sqlite")
        let first = try InstanceLock(database: path)
        #expect(throws: InstanceLockError.self) { try InstanceLock(database: path) }
        withExtendedLifetime((first, folder)) {}
    }
}
