import StatusCrypto
import Wire

/// What servers have answered to a query about an owner. Everyone who sees the query can answer it, so only the owner's grants tell which
/// server is the owner's.
///
/// A value without clock and node. It is bounded whatever is answered, and reads each answer in linear time.
struct QueryAnswers {
    /// The number of infos that are read of an answer: as many as a server of this project has devices of an owner.
    static let maximumInfoCount = 64

    private let owner: PublicKey
    private let contact: PrivateKey?
    private let known: Set<DeviceInfo.Place>
    private let knownServers: Set<PublicKey>
    private var verified: [DeviceInfo] = []
    private var others: [DeviceInfo] = []

    /// - Parameters:
    ///   - contact: See ``QueryResult``.
    ///   - known: The devices that were known before. They and their servers go first where not everything is kept.
    init(about owner: PublicKey, to contact: PrivateKey?, knowing known: [DeviceInfo]) {
        self.owner = owner
        self.contact = contact
        self.known = Set(known.map(\.place))
        knownServers = Set(known.map(\.server))
    }

    /// Reads an answer.
    ///
    /// - Returns: Whether it contains a device that the owner has verifiably registered with the answering server.
    mutating func take(_ reply: SealedQuery.Reply) -> Bool {
        let server = PublicKey(reply.server)
        var hasGrant = false
        for info in reply.response.info.prefix(Self.maximumInfoCount) {
            guard let device = DeviceInfo(info, of: .key(owner), at: reply.server, to: contact) else {
                // A forged grant costs the forger nothing, and a check of it costs a signature's verification.
                if knownServers.contains(server) { continue } else { break }
            }
            if device.authorization == .verified {
                hasGrant = true
                verified.append(device)
            } else {
                others.append(device)
            }
        }
        // A server that the owner once authorised can invent installations, in any number of answers.
        if verified.count > 2 * KnownDevices.maximumCount { verified = verified.newest.kept(knowing: known) }
        if others.count > 2 * KnownDevices.maximumCount { others = others.newest.kept(knowing: known) }
        return hasGrant
    }

    /// The devices with a verified grant, and at the end those that only their server vouches for.
    var devices: [DeviceInfo] { (verified.newest + others.newest).kept(knowing: known) }
}
