import Foundation
import Observation
import ServerFiles
import TestSupport
import Testing

@testable import Daemon

/// The files with the server's keys while it runs.
@Suite(.safetyNet) struct KeyFileWatchTests {
    @Test(arguments: ["identity", "sealing"]) func `a file that is gone or another one is a warning until it is back`(name: String) throws {
        let folder = try TemporaryFolder()
        for name in ["identity.key", "sealing.key"] { try folder.write("the \(name)", to: name) }
        let files = ServerFiles(
            identityKeyFile: folder.path("identity.key"), sealingKeyFile: folder.path("sealing.key"),
            database: .sqlite(path: folder.path("push.sqlite")))
        let watch = KeyFileWatch(files)
        #expect(watch.warnings.isEmpty)
        let path = folder.path("\(name).key")
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        #expect(watch.warnings.map(\.text) == ["the \(name) key file \(path) is gone since the start: the next start needs the old one"])
        try folder.write("another", to: "\(name).key")
        #expect(
            watch.warnings.map(\.text) == ["the \(name) key file \(path) is another one since the start: the next start needs the old one"])
        // The same content in a new file is the same key.
        try folder.write("the \(name).key", to: "\(name).key")
        #expect(watch.warnings.isEmpty)
    }
}
