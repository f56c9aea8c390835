import Concurrency
package import Envelope
import StatusCrypto
package import Wire

/// What the servers of one installation are to know, what each is known to know, and what is to be done next.
///
/// A value: it neither waits nor sends. Whoever acts on it saves it before a request leaves, so that no version is ever used twice.
package struct RegistrationPlan: Codable, Equatable, Sendable {
    /// Tells the devices of one identity apart.
    package let installationID: String
    /// What servers are told; nil before the first registration.
    package private(set) var device: Device?
    /// The UUID that senders have to show, the same at all servers.
    package private(set) var accessToken = ""
    /// Rises with every change of what servers are told.
    private var generation = 0
    /// The highest version that any request carried, to any server.
    package private(set) var version: UInt64 = 0
    private var entries: [ServerEntry] = []
    /// What was advertised last; put back if it could not be sent.
    var advertisement: Advertised?
    /// Tells which of two saved plans is the newer one.
    package private(set) var revision = 0

    /// - Parameter accessToken: one that senders know already; empty for a new one.
    package init(installationID: String, accessToken: String = "") {
        self.installationID = installationID
        self.accessToken = accessToken
    }

    /// The servers that are to know the installation.
    package var wantedServers: [IdentityKey] { entries.filter(\.isWanted).map(\.server) }

    /// In the order in which they were named.
    package var statuses: [ServerStatus] { entries.map { $0.status(generation: generation) } }
}

// MARK: - What is wanted

extension RegistrationPlan {
    /// From now on exactly these servers are to know exactly this. Changes nothing when it was so already, except that what was given up
    /// is tried again.
    package mutating func register(
        _ device: Device, with servers: [IdentityKey], using random: inout some RandomNumberGenerator
    ) {
        let renewsToken = accessToken.isEmpty || Self.renewsToken(from: self.device, to: device)
        if renewsToken { accessToken = UniversallyUniqueID.random(using: &random) }
        let isChanged = renewsToken || self.device?.asTold != device.asTold
        if isChanged { generation += 1 }
        self.device = device

        for index in entries.indices {
            entries[index].startOver()
            entries[index].isWanted = servers.contains(entries[index].server)
        }
        forgetUntold()
        for server in servers where !entries.contains(where: { $0.server == server }) {
            entries.append(ServerEntry(server: server, isWanted: true))
        }
    }

    /// The server is to forget the installation.
    package mutating func unregister(from server: IdentityKey) {
        guard let index = index(of: server) else { return }
        entries[index].startOver()
        entries[index].isWanted = false
        forgetUntold()
    }

    /// The server is told once more, whatever it is known to know; one that nothing is known of is told to forget.
    package mutating func repeatOrder(to server: IdentityKey) {
        if index(of: server) == nil { entries.append(ServerEntry(server: server, isWanted: false)) }
        for index in entries.indices where entries[index].server == server { entries[index].forgetConfirmation() }
    }

    /// A server that was never written to has nothing to forget.
    private mutating func forgetUntold() {
        entries.removeAll { !$0.isWanted && $0.isUntold }
    }

    /// A contact that is one no more has a token that must not be good any more, and so has everybody once only contacts may have one.
    private static func renewsToken(from old: Device?, to new: Device) -> Bool {
        guard let old else { return false }
        return new.isForContactsOnly && !old.isForContactsOnly || !old.contacts.isSubset(of: new.contacts)
    }
}

extension Device {
    /// Contacts are told for contacts only.
    fileprivate var asTold: Device {
        var device = self
        if !isForContactsOnly { device.contacts = [] }
        return device
    }
}

// MARK: - What is to be done

/// What the next request to a server says.
package struct RegistrationOrder: Equatable, Sendable {
    package let server: IdentityKey
    /// Nil: the server is to forget the installation.
    package let device: Device?
    package let version: UInt64
    fileprivate let generation: Int
}

extension RegistrationPlan {
    /// How far above the last version to go after as many VERSION_MISMATCHes in a row. Versions are milliseconds since 1970 or more, so
    /// that a device that lost its state is above what it had; if its clock was wrong then: a minute, 50 days, 9,000 years.
    private static let leaps: [UInt64] = [1, 1 << 16, 1 << 32, 1 << 48]

    /// The version for one who knows of none before.
    package static func version(at now: Timestamp) -> UInt64 { UInt64(clamping: now.nanoseconds / 1_000_000) }

    /// Which servers are to be written to now.
    package func due(at now: Timestamp) -> [IdentityKey] {
        entries.filter { $0.isDue(at: now, generation: generation) }.map(\.server)
    }

    /// When a server is to be written to next; nil if nothing is left to do.
    ///
    /// - Parameter busy: servers that are being written to: what comes next is known afterwards.
    package func nextAttempt(after now: Timestamp, except busy: Set<IdentityKey>) -> Timestamp? {
        entries.filter { !busy.contains($0.server) }.compactMap { $0.attempt(after: now, generation: generation) }.min()
    }

    /// Takes a version for a request to a server.
    ///
    /// Every request has one of its own, higher than all before: whether a lost one, or only its answer, took effect makes no difference
    /// to the next.
    /// - Returns: nil if there is nothing to tell the server.
    package mutating func order(to server: IdentityKey, now: Timestamp) -> RegistrationOrder? {
        guard let index = index(of: server), entries[index].attempt(after: now, generation: generation) != nil else { return nil }
        let leap = Self.leaps[min(entries[index].mismatchCount, Self.leaps.count - 1)]
        version = max(version.addingSaturating(leap), Self.version(at: now))
        return RegistrationOrder(
            server: server, device: entries[index].isWanted ? device : nil, version: version, generation: generation)
    }

    /// Notes a request that is about to leave.
    ///
    /// - Parameter requestID: SHAKE-256 of the encrypted registration, in hex.
    package mutating func note(_ requestID: String, of order: RegistrationOrder) {
        guard let index = index(of: order.server) else { return }
        entries[index].note(
            .init(requestID: requestID, version: order.version, generation: order.device == nil ? nil : order.generation))
    }

    /// The requests to a server that were not answered.
    package func requestIDs(waitingFor server: IdentityKey) -> Set<String> {
        Set(index(of: server).map { entries[$0].requests.map(\.requestID) } ?? [])
    }

    /// To be called before each save.
    package mutating func countRevision() { revision += 1 }
}

// MARK: - What is advertised

/// What an advertisement said, and when.
struct Advertised: Codable, Equatable, Sendable {
    let servers: [AdvertisedServer]
    let accessToken: String?
    let time: Timestamp
}

/// A server that is advertised.
package struct AdvertisedServer: Codable, Equatable, Sendable {
    package let server: IdentityKey
    /// The version of the registration there.
    package let version: UInt64
}

extension RegistrationPlan {
    /// The servers that know all they are to know; none when servers were advertised and none is wanted any more; nil when there is nothing
    /// to advertise.
    package var serversToAdvertise: [AdvertisedServer]? {
        guard entries.contains(where: \.isWanted) else { return advertisement?.servers.isEmpty == false ? [] : nil }
        let servers = entries.compactMap { entry -> AdvertisedServer? in
            guard entry.isUpToDate(generation), let version = entry.confirmedVersion else { return nil }
            return AdvertisedServer(server: entry.server, version: version)
        }
        return servers.isEmpty ? nil : servers
    }

    /// What everybody may know; nil when only contacts may.
    package var advertisedToken: String? { device?.isForContactsOnly == true ? nil : accessToken }

    /// When to advertise: at once when there is news, otherwise when it was so long ago; nil if there is nothing to advertise.
    package func nextAdvertisement(after now: Timestamp, interval: Duration) -> Timestamp? {
        guard let serversToAdvertise else { return nil }
        guard let advertisement, advertisement.servers == serversToAdvertise, advertisement.accessToken == advertisedToken else {
            return now
        }
        return min(max(advertisement.time.advanced(by: interval), now), now.advanced(by: interval))
    }

    /// Notes what is being advertised.
    package mutating func noteAdvertisement(of servers: [AdvertisedServer], at now: Timestamp) {
        advertisement = Advertised(servers: servers, accessToken: advertisedToken, time: now)
    }
}

// MARK: - What came of it

extension RegistrationPlan {
    /// Takes in an answer to any request that is noted; a late failure of an earlier request says nothing any more.
    ///
    /// - Returns: what there is to tell; nil if nothing.
    package mutating func answered(
        _ response: PushNotificationRegistrationResponse, requestID: String, by server: IdentityKey, now: Timestamp,
        using random: inout some RandomNumberGenerator
    ) -> RegistrationEvent? {
        guard let index = index(of: server), let request = entries[index].requests.first(where: { $0.requestID == requestID }) else {
            return nil
        }
        if response.success { return confirmed(request, at: index) }
        guard request == entries[index].requests.last else { return nil }
        switch RegistrationRefusal(response.error) {
        case .versionMismatch where entries[index].mismatchCount < Self.leaps.count - 1:
            entries[index].mismatchCount += 1
            entries[index].nextAttempt = nil
            return nil
        case .internalError, .unknown:
            return failed(.registrationRefused(RegistrationRefusal(response.error)), at: index, now: now, using: &random)
        case let refusal:
            entries[index].stop = .refused(refusal)
            return .stopped(server: server, reason: .registrationRefused(refusal))
        }
    }

    /// Takes in that there was no answer, or no way to ask.
    package mutating func failed(
        _ reason: PushClientError, to server: IdentityKey, now: Timestamp, using random: inout some RandomNumberGenerator
    ) -> RegistrationEvent? {
        index(of: server).flatMap { failed(reason, at: $0, now: now, using: &random) }
    }

    private mutating func confirmed(_ request: ServerEntry.Request, at index: Int) -> RegistrationEvent? {
        let server = entries[index].server
        guard let generation = request.generation else {
            // Wanted again meanwhile: the newer request decides.
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
        let server = entries[index].server
        entries[index].failureCount += 1
        guard entries[index].failureCount < BackOff.maximumFailureCount else {
            entries[index].stop = .gaveUp
            return .stopped(server: server, reason: reason)
        }
        let delay = BackOff.registering.delay(afterFailures: entries[index].failureCount, using: &random)
        entries[index].nextAttempt = now.advanced(by: delay)
        return .retrying(server: server, reason: reason, after: delay)
    }

    private func index(of server: IdentityKey) -> Int? {
        entries.firstIndex { $0.server == server }
    }
}

extension UInt64 {
    fileprivate func addingSaturating(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
