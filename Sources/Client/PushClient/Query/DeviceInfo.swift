/// An owner's device, as a push server describes it to senders.
public struct DeviceInfo: Hashable, Sendable, Codable {
    /// The result of verifying the owner's grant for the server.
    public struct Authorization: RawRepresentable, Hashable, Sendable, Codable {
        /// The constant's name.
        public let rawValue: String

        /// Takes a constant's name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The grant is the owner's, for this server and this access token.
        public static let verified = Authorization(rawValue: "verified")
        /// The grant covers an access token that only contacts receive: other clients cannot verify it.
        public static let tokenHidden = Authorization(rawValue: "tokenHidden")
        /// The grant's signer is known only by the key's hash.
        public static let keyUnknown = Authorization(rawValue: "keyUnknown")
    }

    /// Which server notifies the device.
    public let server: PublicKey
    /// The id that distinguishes an owner's devices.
    public let installationID: String
    /// The access token to present when notifying the device, or nil if only contacts receive it and the caller is not a contact.
    public let accessToken: String?
    /// The number of encrypted access tokens, one per contact.
    public let encryptedTokenCount: Int
    /// The registration's version.
    public let version: UInt64
    /// Whether the owner has authorised the server, as far as this client can verify.
    public let authorization: Authorization

    package init(
        server: PublicKey, installationID: String, accessToken: String?, encryptedTokenCount: Int, version: UInt64,
        authorization: Authorization
    ) {
        self.server = server
        self.installationID = installationID
        self.accessToken = accessToken
        self.encryptedTokenCount = encryptedTokenCount
        self.version = version
        self.authorization = authorization
    }
}

extension DeviceInfo {
    /// An installation at a server, of which one description is kept.
    struct Place: Hashable, Sendable {
        let server: PublicKey
        let installationID: String
    }

    var place: Place { Place(server: server, installationID: installationID) }
}

extension DeviceInfo: CustomStringConvertible, CustomReflectable {
    /// A description without the access token.
    public var description: String { "<installation \(installationID) at \(server.compressedHex), version \(version)>" }
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A server's response to a query.
public struct QueryResult: Hashable, Sendable {
    /// The devices whose description is acceptable.
    public let devices: [DeviceInfo]
    /// The number of rejected descriptions: of another owner, or with a grant that is not the owner's.
    public let rejectedCount: Int
}
