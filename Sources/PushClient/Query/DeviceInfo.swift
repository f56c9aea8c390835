/// A device of a person, as a push server describes it to those who want to notify it.
public struct DeviceInfo: Hashable, Sendable, Codable {
    /// Whether the person authorised the server, as far as one can tell.
    public enum Authorization: String, Hashable, Sendable, Codable {
        /// The grant is the person's, for this server and this access token.
        case verified
        /// The grant is over the access token, which is given to contacts only: nobody else can check it.
        case tokenHidden
        /// The grant is by a key of which only the hash is known.
        case keyUnknown
    }

    /// The server that notifies the device.
    public let server: IdentityKey
    /// Tells the devices of a person apart.
    public let installationID: String
    /// What to show when notifying the device; nil if it is given to contacts only, and the asker is none.
    public let accessToken: String?
    /// How many encrypted access tokens came instead, one for each contact.
    public let encryptedTokenCount: Int
    /// The version of the registration.
    public let version: UInt64
    /// Whether the server may notify the device.
    public let authorization: Authorization

    package init(
        server: IdentityKey, installationID: String, accessToken: String?, encryptedTokenCount: Int, version: UInt64,
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

/// What a server answered to a query.
public struct QueryResult: Hashable, Sendable {
    /// The devices that the answer can be believed about.
    public let devices: [DeviceInfo]
    /// How many descriptions were thrown away: of somebody else, or with a grant that is not the person's.
    public let rejectedCount: Int
}
