package import Foundation
import Synchronization

/// A folder for one test. The release of this object removes the folder.
package final class TemporaryFolder: Sendable {
    package let url = FileManager.default.temporaryDirectory.appending(path: "pushserver-tests-\(UUID().uuidString)")

    private let actions = Mutex<[@Sendable () -> Void]>([])

    package init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        for action in actions.withLock(\.self) { action() }
        try? FileManager.default.removeItem(at: url)
    }

    /// Adds an action that removes something outside the folder, at the end of the test.
    package func atEnd(_ action: @escaping @Sendable () -> Void) {
        actions.withLock { $0.append(action) }
    }

    package func path(_ name: String) -> String { url.appending(path: name).path() }

    package func write(_ text: String, to name: String, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: url.appending(path: name))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }
}
