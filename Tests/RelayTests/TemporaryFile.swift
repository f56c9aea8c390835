import Foundation

/// A path for one test; what is there is gone when the test is.
final class TemporaryFile: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "relay-tests-\(UUID().uuidString)").path()

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func append(_ bytes: [UInt8]) throws {
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }
}
