package import Bytes
import StatusCrypto

/// Seals and opens the values in a database's rows.
package enum RowSealing: Sendable {
    case sealed(Sealer)
    /// A tool reads the database without a key.
    case locked

    /// The sealer.
    ///
    /// - Throws: `StoreError.sealingKeyMissing` in a locked database.
    package var sealer: Sealer {
        get throws(StoreError) {
            guard case .sealed(let sealer) = self else { throw .sealingKeyMissing }
            return sealer
        }
    }

    /// Seals a row's secrets into a single value.
    package func seal(_ fields: [[UInt8]?], in place: @autoclosure () -> SealedPlace) throws(StoreError) -> [UInt8] {
        try sealer.seal(fields, in: place())
    }

    /// Returns a row's secrets.
    ///
    /// - Throws: `StoreError.sealingKeyMissing` without the key, `damaged` if the value does not open or is missing.
    package func open(_ sealed: [UInt8]?, count: Int, in place: @autoclosure () -> SealedPlace) throws(StoreError) -> [[UInt8]?] {
        guard let sealed else { throw .damaged }
        return try sealer.open(sealed, count: count, in: place())
    }

    /// Opens a value with a single field. Returns nil without a value.
    package func value(_ sealed: [UInt8]?, in place: @autoclosure () -> SealedPlace) throws(StoreError) -> [UInt8]? {
        guard let sealed else { return nil }
        return try open(sealed, count: 1, in: place())[0]
    }

    /// Seals a single field. Returns nil without a value.
    package func seal(value: [UInt8]?, in place: @autoclosure () -> SealedPlace) throws(StoreError) -> [UInt8]? {
        guard let value else { return nil }
        return try seal([value], in: place())
    }

    /// Returns a device token's code, by which a row is found.
    package func code(of token: DeviceToken) throws(StoreError) -> FixedBytes<16> { try sealer.code(of: token) }

    /// Returns the value that stands for a device token's digest.
    package func code(of digest: Digest32) throws(StoreError) -> Digest32 { try sealer.code(of: digest) }
}

extension SecretText {
    /// Creates the text from a sealed field's bytes.
    package init(field: [UInt8]?) { self.init(String(decoding: field ?? [], as: UTF8.self)) }

    /// The bytes for a sealed field.
    package var field: [UInt8] { Array(text.utf8) }
}
