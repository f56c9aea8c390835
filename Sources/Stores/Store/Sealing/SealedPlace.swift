package import Bytes
package import PushProtocol
import StatusCrypto

/// Where a sealed value belongs: its column and the row's unchanging values. It can only be opened there, so that nobody who can write to
/// the database can swap rows or columns.
package struct SealedPlace: Equatable, Sendable {
    /// Each part with its length in front (4 bytes, big-endian), and the version (8 bytes).
    package let associatedData: [UInt8]

    /// - Parameters:
    ///   - column: The table and the column, such as `push secrets`.
    ///   - owner: The key hash, or another value that names the row's owner.
    ///   - installation: The installation id, or another value that distinguishes rows of an owner.
    ///   - version: The row's version or number.
    private init(_ column: String, owner: Span<UInt8>, installation: [UInt8] = [], version: UInt64 = 0) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + column.utf8.count + owner.count + installation.count)
        bytes.append(bigEndian: UInt32(column.utf8.count))
        bytes.append(contentsOf: column.utf8)
        bytes.append(bigEndian: UInt32(owner.count))
        bytes.append(copying: owner)
        bytes.append(bigEndian: UInt32(installation.count))
        bytes.append(contentsOf: installation)
        bytes.append(bigEndian: version)
        associatedData = bytes
    }

    /// The database's secret, sealed with the key of that id.
    package static func databaseSecret(of identity: FixedBytes<33>, key: UInt8) -> SealedPlace {
        SealedPlace("sealing_key secret", owner: identity.span, version: UInt64(key))
    }

    /// A registration's access token and device token.
    package static func registration(_ installation: Installation, version: UInt64) -> SealedPlace {
        of(installation, "registration secrets", version)
    }

    package static func allowedKeys(of installation: Installation, version: UInt64) -> SealedPlace {
        of(installation, "registration_lists allowed_keys", version)
    }

    package static func chatLists(of installation: Installation, version: UInt64) -> SealedPlace {
        of(installation, "registration_lists chat_lists", version)
    }

    private static func of(_ installation: Installation, _ column: String, _ version: UInt64) -> SealedPlace {
        SealedPlace(
            column, owner: installation.keyHash.span, installation: Array(installation.installationID.utf8), version: version)
    }

    /// A removed registration's copy, by the digest of its plaintext.
    package static func deadRegistration(of keyHash: Digest64, digest: Digest32) -> SealedPlace {
        SealedPlace("dead_registration content", owner: keyHash.span, installation: digest.bytes)
    }

    /// An open push's device token, texts and notification.
    package static func push(to target: Installation, deduplicationKey: Digest32) -> SealedPlace {
        SealedPlace(
            "push secrets", owner: target.keyHash.span, installation: deduplicationKey.bytes + Array(target.installationID.utf8))
    }

    /// The reply to a message, by the sender's compressed public key and the message's row.
    package static func reply(to recipient: FixedBytes<33>, message: Int64) -> SealedPlace {
        SealedPlace("message reply", owner: recipient.span, version: UInt64(bitPattern: message))
    }

    /// User key and device token of a device at the Nextcloud push proxy.
    package static func proxyDevice(_ identifier: Digest64) -> SealedPlace {
        SealedPlace("nextcloud_device secrets", owner: identifier.span)
    }

    /// The token for calls of a device at the Nextcloud push proxy.
    package static func proxyDeviceCalls(_ identifier: Digest64) -> SealedPlace {
        SealedPlace("nextcloud_device voip_secrets", owner: identifier.span)
    }

    /// The key that signs for a Nextcloud origin user.
    package static func originKey(of user: String) -> SealedPlace {
        SealedPlace("nextcloud_origin_key secrets", owner: user.utf8Span.span)
    }

    /// Subject and signature of a Nextcloud origin push.
    package static func originPush(to user: String, tokenID: Int64) -> SealedPlace {
        SealedPlace("nextcloud_origin_push secrets", owner: user.utf8Span.span, version: UInt64(bitPattern: tokenID))
    }
}
