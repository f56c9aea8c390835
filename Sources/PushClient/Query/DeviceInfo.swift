/// A device of a person, as a push server describes it to those who want to notify it.
public struct DeviceInfo: Hashable, Sendable {
    /// Whether the person authorised the server, as far as one can tell.
    public enum Authorization: Hashable, Sendable {
        /// The grant is the person's, for this server and this access token.
        case verified
        /// The grant is over the access token, which is encrypted for contacts: only they can check it.
        case tokenHidden
        /// The grant is by a key of which only the hash is known.
        case keyUnknown
    }

    /// Tells the devices of a person apart.
    public let installationID: String
    /// What to show when notifying the device; nil if it is given to contacts only.
    public let accessToken: String?
    /// How many encrypted access tokens there are instead, one for each contact.
    public let encryptedTokenCount: Int
    /// The version of the registration.
    public let version: UInt64
    /// Whether the server may notify the device.
    public let authorization: Authorization
}

/// What a server answered to a query.
public struct QueryAnswer: Hashable, Sendable {
    /// The devices that the answer can be believed about.
    public let devices: [DeviceInfo]
    /// How many descriptions were thrown away: of somebody else, or with a grant that is not the person's.
    public let disbelievedCount: Int
}
