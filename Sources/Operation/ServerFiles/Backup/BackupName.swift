package import Bytes
package import Envelope
import Foundation

/// A backup's name: `pushserver-02a1b2c3-20261124T120000Z.sqlite`, with `.age` at its end if it is encrypted.
///
/// The hex digits are the first digits from the server's compressed public key. Two servers that share a folder leave each other's backups
/// alone.
package struct BackupName: Hashable, Sendable, CustomStringConvertible {
    private static let suffix = ".sqlite"
    private static let encryptedSuffix = ".sqlite.age"

    private let prefix: String
    /// The backup's time, to the second.
    package let time: Timestamp
    private let isEncrypted: Bool

    package init(identity: FixedBytes<33>, time: Timestamp, isEncrypted: Bool) {
        prefix = Self.prefix(identity)
        self.time = Timestamp(nanoseconds: time.nanoseconds / 1_000_000_000 * 1_000_000_000)
        self.isEncrypted = isEncrypted
    }

    /// Reads a file's name.
    ///
    /// - Returns: Nil if the file is no backup of this identity.
    package init?(_ name: String, identity: FixedBytes<33>) {
        prefix = Self.prefix(identity)
        isEncrypted = name.hasSuffix(Self.encryptedSuffix)
        let suffix = isEncrypted ? Self.encryptedSuffix : Self.suffix
        guard name.hasPrefix(prefix), name.hasSuffix(suffix),
            let date = try? Self.format.parse(String(name.dropFirst(prefix.count).dropLast(suffix.count)))
        else { return nil }
        time = Timestamp(nanoseconds: 0).advanced(by: .seconds(Int64(date.timeIntervalSince1970)))
        // A name in another form, such as 2026-11-24T12:00:00Z, is not the server's.
        guard description == name else { return nil }
    }

    package var description: String {
        let date = Date(timeIntervalSince1970: TimeInterval(time.nanoseconds / 1_000_000_000))
        return prefix + date.formatted(Self.format) + (isEncrypted ? Self.encryptedSuffix : Self.suffix)
    }

    private static func prefix(_ identity: FixedBytes<33>) -> String {
        let digits = Hex.encode(Array(identity.bytes.prefix(4)))
        return "pushserver-\(digits)-"
    }

    private static var format: Date.ISO8601FormatStyle {
        Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt)
    }
}
