import Foundation
import PushClient

/// The state of the clients in the app's own storage: a file for each value.
actor FolderState: ClientState {
    private let folder: URL

    init(_ folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    func value(named name: String) throws -> Data? {
        let file = file(name)
        return FileManager.default.fileExists(atPath: file.path()) ? try Data(contentsOf: file) : nil
    }

    func save(_ value: Data, named name: String) throws {
        try value.write(to: file(name), options: .atomic)
    }

    private func file(_ name: String) -> URL {
        folder.appending(path: name.replacing("/", with: "_"))
    }
}
