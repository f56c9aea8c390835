package import Bytes
import StatusCrypto

/// How the rows of a database keep their secrets.
///
/// A row has columns for its secrets in clear and one column, such as `secrets`, for the sealed value of all of them. If that column is
/// NULL, the row is in clear: an older row of a database that is not sealed, or not yet re-sealed.
package enum RowSealing: Sendable {
    /// The database has no sealing key.
    case clear
    case sealed(Sealer)
    /// The database is sealed, and the tool that reads it has no key.
    case locked

    /// Whether new rows are sealed.
    package var isOn: Bool { if case .sealed = self { true } else { false } }

    /// Returns the sealed value of a row's secrets; nil if the row keeps them in clear.
    ///
    /// - Throws: `StoreError.sealingKeyMissing` in a locked database.
    package func seal(_ fields: [[UInt8]?], in place: @autoclosure () -> SealedPlace) throws(StoreError) -> [UInt8]? {
        switch self {
        case .clear: nil
        case .sealed(let sealer): sealer.seal(fields, in: place())
        case .locked: throw .sealingKeyMissing
        }
    }

    /// Returns the secrets of a sealed row; nil if the row keeps them in clear.
    ///
    /// - Throws: `StoreError.sealingKeyMissing` without the key, `damaged` if the value does not open.
    package func open(_ sealed: [UInt8]?, count: Int, in place: @autoclosure () -> SealedPlace) throws(StoreError) -> [[UInt8]?]? {
        guard let sealed else { return nil }
        guard case .sealed(let sealer) = self else { throw .sealingKeyMissing }
        return try sealer.open(sealed, count: count, in: place())
    }

    /// Returns the only field of a sealed value, or the value in clear.
    package func value(_ sealed: [UInt8]?, orClear clear: [UInt8]?, in place: @autoclosure () -> SealedPlace) throws(StoreError) -> [UInt8]?
    {
        try open(sealed, count: 1, in: place())?[0] ?? clear
    }

    /// Returns a value as its two columns keep it: in clear or sealed.
    package func columns(
        _ value: [UInt8]?, in place: @autoclosure () -> SealedPlace
    ) throws(StoreError) -> (clear: [UInt8]?, sealed: [UInt8]?) {
        guard let value, let sealed = try seal([value], in: place()) else { return (value, nil) }
        return (nil, sealed)
    }

    /// Returns the code of a device token, by which a sealed row is found; nil in a database without sealing key.
    package func code(of token: DeviceToken) -> FixedBytes<16>? {
        guard case .sealed(let sealer) = self else { return nil }
        return sealer.code(of: token)
    }

    /// Returns the value that stands for the digest of a device token.
    package func code(of digest: Digest32) -> Digest32 {
        guard case .sealed(let sealer) = self else { return digest }
        return sealer.code(of: digest)
    }
}

extension SecretText {
    /// Creates the text of a sealed field.
    package init(field: [UInt8]?) { self.init(String(decoding: field ?? [], as: UTF8.self)) }

    /// The bytes for a sealed field.
    package var field: [UInt8] { Array(text.utf8) }
}
