package import Bytes
import StatusCrypto

/// A list's entries as sorted fingerprints, 8 bytes each. They suffice to tell whether the list contains a chat or an author.
///
/// They are keyed with a secret from the database, so untrusted clients can't search for two entries with the same fingerprint.
package struct ListFingerprints: HoldsSecret, Sendable {
    private static let byteCount = 8

    private let key: FixedBytes<32>

    package init(key: FixedBytes<32>) {
        self.key = key
    }

    /// - Returns: The column, or nil for an empty list.
    package func column(for list: [[UInt8]]) -> [UInt8]? {
        guard !list.isEmpty else { return nil }
        var column: [UInt8] = []
        column.reserveCapacity(Self.byteCount * list.count)
        for fingerprint in list.map(fingerprint).sorted() {
            for shift in stride(from: 56, through: 0, by: -8) { column.append(UInt8(truncatingIfNeeded: fingerprint >> shift)) }
        }
        return column
    }

    /// Returns the entries that are in the list.
    package func entries(_ entries: Set<[UInt8]>, in column: [UInt8]?) -> Set<[UInt8]> {
        guard let column else { return [] }
        return entries.filter { Self.contains(fingerprint(of: $0), column) }
    }

    private func fingerprint(of entry: [UInt8]) -> UInt64 {
        var hash = SHA256()
        hash.update(key.span)
        hash.update(entry.span)
        return UInt64(bitPattern: hash.finalize().prefix)
    }

    private static func contains(_ fingerprint: UInt64, _ column: [UInt8]) -> Bool {
        var range = 0..<column.count / byteCount
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let candidate = UInt64(bigEndianBytes: column[byteCount * middle..<byteCount * (middle + 1)])
            if candidate == fingerprint { return true }
            range = candidate < fingerprint ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return false
    }
}
