package import Foundation

/// A folder for one test, gone when the test is.
package final class TemporaryFolder: Sendable {
    package let url = FileManager.default.temporaryDirectory.appending(path: "pushserver-tests-\(UUID().uuidString)")

    package init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    package func path(_ name: String) -> String { url.appending(path: name).path() }

    package func write(_ text: String, to name: String, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: url.appending(path: name))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }
}
