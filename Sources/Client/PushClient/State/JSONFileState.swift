import Dispatch
public import FoundationEssentials
import Platform
import Synchronization

/// The state of clients in a JSON file, which one process uses at a time, and only its owner may read.
///
/// Each change writes the file anew, beside the old one, and replaces that. After a crash the file has the old or the new values, and never
/// a part. For an app with an extension, `FileState` of PushClientFileState is a file that several processes share.
public final class JSONFileState: ClientState {
    private struct Content: Codable {
        /// The format of the file.
        var version = JSONFileState.version
        var values: [String: Data] = [:]
    }

    private static let version = 1

    private struct Opened {
        var values: [String: Data]
        /// The file that was read or written last, or nil before the first change.
        var identity: FileStatus.Identity?
    }

    private let path: String
    private let lock: FileLock
    private let opened: Mutex<Opened>
    /// Calls wait here for the disk, and not on Swift's threads.
    private let queue = DispatchQueue(label: "PushClient.JSONFileState")
    /// See ``init(path:deviceMark:)``.
    public let deviceMark: String?

    /// Opens the file, and locks it with another beside it, `….lock`. The first change creates it. Blocks on the disk.
    ///
    /// - Parameter deviceMark: See ``ClientState/deviceMark``. Nil changes nothing.
    /// - Throws: ``PushClientError/Code/stateUnusable``, also while another state uses the file, and for a file that another program, or a
    ///   later version of this library, has written.
    public init(path: String, deviceMark: String? = nil) throws {
        self.path = path
        self.deviceMark = deviceMark
        do {
            guard let lock = try FileLock(path: path + ".lock") else {
                throw PushClientError.stateUnusable(
                    reason: "\(path) is in use: give all clients of a program one state of it; for several programs take a FileState")
            }
            self.lock = lock
        } catch let error as SystemError {
            throw PushClientError.stateUnusable(reason: "\(path).lock cannot be opened (\(error)): check the folder and its permissions")
        }
        guard let identity = FileStatus(path: path)?.identity else {
            opened = Mutex(Opened(values: [:], identity: nil))
            return
        }
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw PushClientError.stateUnusable(reason: "\(path) cannot be read: check its owner and permissions")
        }
        guard let content = try? JSONDecoder().decode(Content.self, from: data) else {
            throw PushClientError.stateUnusable(reason: "\(path) is not a state of this library: choose another path")
        }
        guard content.version <= Self.version else {
            throw PushClientError.stateUnusable(reason: "\(path) was written by a later version of this library: update the app")
        }
        opened = Mutex(Opened(values: content.values, identity: identity))
    }

    /// Returns the value that was saved last under the name, or nil.
    public func value(named name: String) async throws -> Data? { opened.withLock { $0.values[name] } }

    /// Saves a value under the name. Returns after it is on the disk.
    public func save(_ value: Data, named name: String) async throws {
        _ = try await write(value, named: name) { _ in true }
    }

    /// Saves a value under the name if the present value is as expected.
    public func replace(_ old: Data?, by new: Data, named name: String) async throws -> Bool {
        try await write(new, named: name) { $0 == old }
    }

    /// Writes the file with another value, if the present one is as expected.
    ///
    /// - Returns: Whether it is.
    private func write(_ value: Data, named name: String, if isExpected: @escaping @Sendable (Data?) -> Bool) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(with: Result { try self.writeNow(value, named: name, if: isExpected) })
            }
        }
    }

    private func writeNow(_ value: Data, named name: String, if isExpected: (Data?) -> Bool) throws -> Bool {
        // Nobody else changes the values: all changes are on the queue.
        var next = opened.withLock { $0 }
        guard isExpected(next.values[name]) else { return false }
        guard next.identity == nil || next.identity == FileStatus(path: path)?.identity else {
            throw PushClientError.stateUnusable(reason: "\(path) was deleted or replaced while it was in use: start the app again")
        }
        next.values[name] = value
        let data = try BoundedState.encode(Content(values: next.values))
        do {
            try replaceFile(path: path, with: data.bytes)
        } catch {
            throw PushClientError.stateUnusable(
                reason: "\(path) cannot be written (\(error)): check the disk, and the folder's permissions")
        }
        next.identity = FileStatus(path: path)?.identity
        opened.withLock { [next] in $0 = next }
        return true
    }
}
