import Bytes
import Envelope
import Foundation
import Platform
import Synchronization
import Wire

/// A node's store in a file that survives the process. Entries are appended and never changed.
///
/// An entry consists of the pubsub topic's length, the topic, the message's length, and the message as protobuf. Lengths are 4 bytes,
/// big-endian. A killed process may leave half an entry at the end, which the next start cuts off.
final class ArchiveFile: Sendable {
    private let handle: Mutex<FileHandle>

    /// Opens the file, or creates it.
    ///
    /// - Returns: The file and its content.
    static func open(path: String) throws -> (file: ArchiveFile, archive: MessageArchive) {
        if !FileManager.default.fileExists(atPath: path) {
            guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
                throw CocoaError(.fileWriteUnknown)
            }
        }
        let handle = FileHandle(fileDescriptor: try RegularFile.open(path, O_RDWR), closeOnDealloc: true)
        let bytes = [UInt8](try handle.readToEnd() ?? Data())
        var archive = MessageArchive()
        var rest = bytes[...]
        var completeByteCount = 0
        while let envelope = readEntry(&rest) {
            archive.restore(envelope, hash: envelope.hash)
            completeByteCount = rest.startIndex
        }
        try handle.truncate(atOffset: UInt64(completeByteCount))
        try handle.seek(toOffset: UInt64(completeByteCount))
        return (ArchiveFile(handle), archive)
    }

    private init(_ handle: FileHandle) {
        self.handle = Mutex(handle)
    }

    func append(_ envelope: WakuEnvelope) throws {
        var entry: [UInt8] = []
        for part in [Array(envelope.pubsubTopic.utf8), envelope.message.encoded()] {
            entry.append(bigEndian: UInt32(part.count))
            entry += part
        }
        try handle.withLock { try $0.write(contentsOf: Data(entry)) }
    }

    private static func readEntry(_ rest: inout ArraySlice<UInt8>) -> WakuEnvelope? {
        guard let topic = readPart(&rest), let message = readPart(&rest).flatMap({ try? WakuMessage.decode(Array($0)) }) else { return nil }
        return WakuEnvelope(pubsubTopic: String(decoding: topic, as: UTF8.self), message: message)
    }

    private static func readPart(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard rest.count >= 4 else { return nil }
        let count = Int(bigEndianBytes: rest.prefix(4))
        guard rest.count >= 4 + count else { return nil }
        defer { rest = rest.dropFirst(4 + count) }
        return rest.dropFirst(4).prefix(count)
    }
}
