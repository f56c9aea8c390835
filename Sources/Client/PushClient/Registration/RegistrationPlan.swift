import Bytes
package import Envelope
import StatusCrypto
import Tasks
package import Wire

/// An installation's desired registration, each server's confirmed state, and the next requests.
///
/// A value that neither waits nor sends. Its user saves it before each request leaves, so that no version is used twice.
package struct RegistrationPlan: HoldsSecret, Codable, Equatable, Sendable {
    /// The id that distinguishes devices that share an identity.
    package let installationID: String
    /// The desired registration, or nil before the first.
    package private(set) var device: Device?
    /// The UUID that senders must present, the same at all servers.
    package private(set) var accessToken = ""
    /// A number that rises whenever the desired registration changes.
    private var generation = 0
    /// The highest version of any request to any server.
    package private(set) var version: UInt64 = 0
    private var entries: [ServerEntry] = []
    /// The last advertisement.
    var advertisement: Advertised?

    /// - Parameter accessToken: A token that senders already know, or empty for a new token.
    package init(installationID: String, accessToken: String = "") {
        self.installationID = installationID
        self.accessToken = accessToken
    }

    /// The servers on which the installation is to be registered.
    package var wantedServers: [PublicKey] { entries.filter(\.isWanted).map(\.server) }

    /// The statuses in the order in which the servers were named.
    package var statuses: [ServerStatus] { entries.map { $0.status(generation: generation) } }
}

// MARK: - Desired state

extension RegistrationPlan {
    /// Sets the desired registration and the exact set of servers. Without a change, the only effect is that stopped servers are tried
    /// again.
    package mutating func register(
        _ device: Device, with servers: [PublicKey], using random: inout some RandomNumberGenerator
    ) {
        let renewsToken = accessToken.isEmpty || Self.renewsToken(from: self.device, to: device)
        if renewsToken { accessToken = UniversallyUniqueID.random(using: &random) }
        let isChanged = renewsToken || self.device?.asSent != device.asSent
        if isChanged { generation &+= 1 }
        self.device = device

        for index in entries.indices {
            entries[index].startOver()
            entries[index].isWanted = servers.contains(entries[index].server)
        }
        discardUnsent()
        for server in servers where !entries.contains(where: { $0.server == server }) {
            entries.append(ServerEntry(server: server, isWanted: true))
        }
    }

    /// Gives up the registration with a server. If the server may know the device, it gets an unregistration next.
    package mutating func unregister(from server: PublicKey) {
        guard let index = index(of: server) else { return }
        entries[index].startOver()
        entries[index].isWanted = false
        discardUnsent()
    }

    /// Requests another message to the server, even if it has confirmed the same. A server without known state gets an unregistration.
    package mutating func repeatOrder(to server: PublicKey) {
        if index(of: server) == nil { entries.append(ServerEntry(server: server, isWanted: false)) }
        for index in entries.indices where entries[index].server == server { entries[index].forgetConfirmation() }
    }

    /// Removes servers without any request: they have nothing to unregister.
    private mutating func discardUnsent() {
        entries.removeAll { !$0.isWanted && !$0.isTold }
    }

    /// Whether the token must change: a removed contact must not keep a valid token, nor may other senders once the device is for contacts
    /// only.
    private static func renewsToken(from old: Device?, to new: Device) -> Bool {
        guard let old, let contacts = new.audience.contacts else { return false }
        return old.audience.contacts.map { !$0.isSubset(of: contacts) } ?? true
    }
}

extension Device {
    /// The device without contacts unless it is for contacts only: version 0.1.0 saved them in any case.
    fileprivate var asSent: Device {
        var device = self
        device.audience = audience
        return device
    }
}

// MARK: - Next requests

/// A request that is saved and may leave.
enum NotedRequest: Sendable {
    case sealed(ServerEntry.Request, SealedRegistration)
    /// The request cannot be sent.
    case failed(ServerEntry.Request, PushClientError)
}

extension RegistrationPlan {
    /// By how much the version rises after consecutive VERSION_MISMATCH replies. Versions are milliseconds since 1970 or more, so a device
    /// without state exceeds its former version. If its clock was wrong, the leaps add a minute, 50 days and 9,000 years.
    private static let leaps: [UInt64] = [1, 1 << 16, 1 << 32, 1 << 48]

    /// The version that a client without state uses.
    package static func version(at now: Timestamp) -> UInt64 { UInt64(clamping: now.nanoseconds / 1_000_000) }

    /// The time at which a client chose that version, unless it was in a leap.
    static func time(of version: UInt64) -> Timestamp {
        Timestamp(nanoseconds: Int64(clamping: min(version, UInt64(Int64.max) / 1_000_000) * 1_000_000))
    }

    /// Returns the servers with a request due now.
    package func due(at now: Timestamp) -> [PublicKey] {
        entries.filter { $0.isDue(at: now, generation: generation) }.map(\.server)
    }

    /// Returns when the next request to any server is due, or nil if there is nothing to send.
    ///
    /// - Parameter busy: The servers with a request in progress, whose next step is not known yet.
    package func nextAttempt(after now: Timestamp, except busy: Set<PublicKey>) -> Timestamp? {
        entries.filter { !busy.contains($0.server) }.compactMap { $0.attempt(after: now, generation: generation) }.min()
    }

    /// Whether there is something to send to the server, apart from its back-off.
    func needsRequest(to server: PublicKey, at now: Timestamp) -> Bool {
        index(of: server).map { entries[$0].needsRequest(at: now, generation: generation) } == true
    }

    /// Records a request that is about to leave.
    ///
    /// Every request gets a new version, higher than all before. The next request therefore succeeds whether a lost request took effect or
    /// not.
    ///
    /// - Parameter isOwn: See ``answered(_:requestID:by:isOwn:now:using:)``.
    /// - Returns: The request, or nil if there is nothing to send.
    mutating func noteRequest(
        to server: PublicKey, of identity: Identity, isOwn: Bool = false, through node: Node, using random: inout some RandomNumberGenerator
    ) throws -> NotedRequest? {
        let now = node.now
        guard let index = index(of: server), entries[index].needsRequest(at: now, generation: generation),
            !entries[index].isRenewing(at: now, generation: generation)
        else { return nil }
        let leap = Self.leaps[max(0, min(entries[index].mismatchCount, Self.leaps.count - 1))]
        version = version.addingSaturating(leap)
        // A renewal of a copied state must not take the registration from the device that has changed it since.
        if isOwn || !entries[index].isUpToDate(generation) { version = max(version, Self.version(at: now)) }
        let device = entries[index].isWanted ? device : nil
        let registration =
            if let device {
                PushNotificationRegistration(
                    device, installationID: installationID, accessToken: accessToken, version: version, from: identity.privateKey,
                    to: server.publicKey, using: &random)
            } else {
                PushNotificationRegistration(unregistering: installationID, version: version)
            }
        var request = ServerEntry.Request(requestID: "", version: version, generation: device == nil ? nil : generation, sentAt: now)
        do {
            let sealed = try node.sealing { random throws(RFC26.DataTooLong) in
                try SealedRegistration(
                    registration, from: identity.privateKey, to: server.publicKey, segmenter: node.segmenter, using: &random)
            }
            request.requestID = sealed.requestID.description
            entries[index].note(request)
            return .sealed(request, sealed)
        } catch let error as PushClientError {
            return .failed(request, error)
        }
    }

    /// Returns what a server has confirmed, or nil if it has confirmed nothing that is desired.
    func confirmation(of server: PublicKey) -> RegistrationEvent? {
        guard let index = index(of: server) else { return .unregistered(server: server) }
        guard entries[index].isUpToDate(generation), let version = entries[index].confirmedVersion else { return nil }
        return .registered(server: server, version: version)
    }

    /// Returns the newest request to a server, if its reply is still missing.
    func pendingRequest(to server: PublicKey) -> ServerEntry.Request? {
        index(of: server).flatMap { entries[$0].pending }
    }
}

// MARK: - Advertisements

/// What was advertised, and when.
struct Advertised: Codable, Equatable, Sendable {
    let servers: [AdvertisedServer]
    let accessToken: String?
    let time: Timestamp
}

package struct AdvertisedServer: Codable, Equatable, Sendable {
    package let server: PublicKey
    /// The registration's version at the server.
    package let version: UInt64
}

extension RegistrationPlan {
    /// The servers that have confirmed the whole registration. Empty when servers were advertised and none is desired any more, or nil when
    /// there is nothing to advertise.
    package var serversToAdvertise: [AdvertisedServer]? {
        guard entries.contains(where: \.isWanted) else { return advertisement?.servers.isEmpty == false ? [] : nil }
        let servers = entries.compactMap { entry -> AdvertisedServer? in
            guard entry.isUpToDate(generation), let version = entry.confirmedVersion else { return nil }
            return AdvertisedServer(server: entry.server, version: version)
        }
        return servers.isEmpty ? nil : servers
    }

    /// The access token, or nil if only contacts may have it.
    package var advertisedToken: String? { device?.audience.contacts == nil ? accessToken : nil }

    /// Returns when to advertise next: now after a change, otherwise an interval after the last time, or nil if there is nothing to
    /// advertise.
    package func nextAdvertisement(after now: Timestamp, interval: Duration) -> Timestamp? {
        guard let serversToAdvertise else { return nil }
        guard let advertisement, advertisement.servers == serversToAdvertise, advertisement.accessToken == advertisedToken else {
            return now
        }
        return min(max(advertisement.time.advanced(by: interval), now), now.advanced(by: interval))
    }

}

// MARK: - Results

extension RegistrationPlan {
    /// Records a reply to the newest request. Ignores replies to earlier requests, because servers repeat replies, and the server may have
    /// other content by now. Also ignores a failure if the request's content is no longer desired.
    ///
    /// - Parameter isOwn: Whether no other device can have the installation, so that every version of it is this device's.
    /// - Returns: The event to report, or nil.
    package mutating func answered(
        _ response: PushNotificationRegistrationResponse, requestID: String, by server: PublicKey, isOwn: Bool = false, now: Timestamp,
        using random: inout some RandomNumberGenerator
    ) -> RegistrationEvent? {
        guard let index = index(of: server), let request = entries[index].pending, request.requestID == requestID else {
            return nil
        }
        entries[index].noteReply()
        if response.success { return confirmed(request, at: index) }
        guard isDesired(request.generation, at: index) else { return nil }
        let rejection = RegistrationRejection(rawValue: response.error.rawValue)
        switch rejection {
        // The registration was confirmed with a lower version, so this plan is not what made the higher one.
        case .versionMismatch where !isOwn && entries[index].isUpToDate(generation):
            entries[index].reject(rejection)
            return .stopped(server: server, error: .stateCopied)
        case .versionMismatch where entries[index].mismatchCount < Self.leaps.count - 1:
            entries[index].noteMismatch()
            return nil
        case .versionMismatch, .malformedMessage, .unsupportedTokenType:
            entries[index].reject(rejection)
            return .stopped(server: server, error: .registrationRejected(rejection))
        default:
            return failed(.registrationRejected(rejection), at: index, now: now, using: &random)
        }
    }

    /// Records that the server did not reply to a request, or that its request could not be sent. Ignores a request whose content is no
    /// longer desired, because the server gets the desired content immediately.
    ///
    /// - Parameter generation: The content's generation, or nil for an unregistration.
    mutating func failed(
        _ reason: PushClientError, to server: PublicKey, generation: Int?, now: Timestamp, using random: inout some RandomNumberGenerator
    ) -> RegistrationEvent? {
        guard let index = index(of: server), isDesired(generation, at: index) else { return nil }
        return failed(reason, at: index, now: now, using: &random)
    }

    /// Records that the node works again.
    mutating func noteRecovery() {
        for index in entries.indices { entries[index].noteRecovery() }
    }

    /// - Parameter generation: The generation of the request's content, or nil for an unregistration.
    private func isDesired(_ generation: Int?, at index: Int) -> Bool {
        generation == (entries[index].isWanted ? self.generation : nil)
    }

    private mutating func confirmed(_ request: ServerEntry.Request, at index: Int) -> RegistrationEvent? {
        let server = entries[index].server
        guard let generation = request.generation else {
            // Desired again meanwhile: the newer request decides.
            guard !entries[index].isWanted else {
                entries[index].confirm(request)
                return nil
            }
            entries.remove(at: index)
            return .unregistered(server: server)
        }
        entries[index].confirm(request)
        guard entries[index].isWanted, generation == self.generation else { return nil }
        return .registered(server: server, version: request.version)
    }

    private mutating func failed(
        _ reason: PushClientError, at index: Int, now: Timestamp, using random: inout some RandomNumberGenerator
    ) -> RegistrationEvent {
        let delay = entries[index].fail(isOfNode: reason.isOfNode, at: now, using: &random)
        return .retrying(server: entries[index].server, error: reason, after: delay)
    }

    private func index(of server: PublicKey) -> Int? {
        entries.firstIndex { $0.server == server }
    }
}

extension UInt64 {
    fileprivate func addingSaturating(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
