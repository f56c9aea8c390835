import Foundation
import Platform
import Testing

/// Which faults of files may pass.
@Suite struct FileFaultTests {
    @Test(arguments: [
        (ENOSPC, true), (EDQUOT, true), (EROFS, true), (EIO, true), (EMFILE, true), (ENFILE, true), (EACCES, false), (ENOENT, false),
        (EPERM, false), (EISDIR, false), (ENOTDIR, false), (ENAMETOOLONG, false), (ELOOP, false), (0, false),
    ])
    func `a fault of the disk and a lack of descriptors may pass, and no other fault`(errno: Int32, isTemporary: Bool) {
        #expect(FileFault.isTemporary(errno) == isTemporary)
    }
}
