public import FoundationEssentials

/// The pushes that this device has shown, in a file, so that it shows each only once.
///
///     let seen = SeenPushes(file: container.appending(path: "seen-pushes"))
///     if try seen.insert(push) { show(push) }
///
/// A server may deliver a push twice, and another server may deliver it too. Payloads lack the message id, so a push is recognised by its
/// chat and its ciphertext. A push without ciphertext never counts as a repetition, because many messages in a chat would look alike.
///
/// The file is replaced as a whole. If an app and its extension insert at the same moment, an entry may be lost, and its push may be shown
/// again.
public struct SeenPushes: Sendable {
    /// The number of pushes that are remembered, the newest: they take 40 KB.
    public static let maximumCount = 1_000
    /// Twice as long as servers keep a push.
    public static let lifetime: TimeInterval = 48 * 60 * 60

    /// A digest of 32 bytes, after the seconds since 1970 as 8 bytes.
    private static let entryByteCount = 40

    private let file: URL

    /// Takes the file's address. The file is created with the first push.
    public init(file: URL) {
        self.file = file
    }

    /// Records a push. Blocks on the disk.
    ///
    /// - Parameter now: The present time.
    /// - Returns: Whether the push is new.
    /// - Throws: The file system's error, if the file cannot be written.
    public func insert(_ push: PushPayload, now: Date = Date()) throws -> Bool {
        guard !push.ciphertext.isEmpty else { return true }
        let digest = Self.digest(of: push)
        var entries = entries(since: Self.seconds(now.addingTimeInterval(-Self.lifetime)))
        for start in stride(from: 0, to: entries.count, by: Self.entryByteCount)
        where entries[start..<start + Self.entryByteCount].dropFirst(8).elementsEqual(digest) { return false }
        Self.append(Self.seconds(now), byteCount: 8, to: &entries)
        entries += digest
        try Data(entries.suffix(Self.maximumCount * Self.entryByteCount)).write(to: file, options: .atomic)
        return true
    }

    /// Returns the remembered pushes as the file has them, the oldest first. A file that is missing or damaged counts as empty.
    private func entries(since start: UInt64) -> [UInt8] {
        guard let data = try? Data(contentsOf: file), data.count.isMultiple(of: Self.entryByteCount),
            data.count <= Self.maximumCount * Self.entryByteCount
        else { return [] }
        var entries: [UInt8] = []
        entries.reserveCapacity(data.count + Self.entryByteCount)
        for index in stride(from: data.startIndex, to: data.endIndex, by: Self.entryByteCount) {
            let seconds = data[index..<index + 8].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            if seconds >= start { entries += data[index..<index + Self.entryByteCount] }
        }
        return entries
    }

    private static func seconds(_ date: Date) -> UInt64 { UInt64(max(0, min(date.timeIntervalSince1970, 1e15))) }

    /// The SHA-256 of chat and ciphertext, each with its length, so that no two pairs have the same bytes.
    private static func digest(of push: PushPayload) -> [UInt8] {
        var bytes: [UInt8] = []
        for part in [push.chatHash, push.ciphertext] {
            append(UInt64(part.count), byteCount: 4, to: &bytes)
            bytes += part
        }
        return SHA256.hash(bytes)
    }

    /// Appends a number's low bytes, the highest first.
    private static func append(_ number: UInt64, byteCount: Int, to bytes: inout [UInt8]) {
        for index in (0..<byteCount).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))) }
    }
}
