import Envelope

extension SendingClient {
    /// Reads what people advertise, first in the node's store and then live, until the task is cancelled. For contacts with whom messages are
    /// exchanged: their devices are then known before a push is due.
    ///
    /// - Parameters:
    ///   - people: by their chat keys, or their keys of anonymous mode. The node is asked for ten of them at a time.
    ///   - interval: how often the node is asked.
    public func follow(_ people: [IdentityKey], every interval: Duration = defaultFollowingInterval) async {
        let topics = people.map { TopicName.contactCode($0.publicKey) }
        let followed = Dictionary(zip(topics, people)) { first, _ in first }
        var subscription = Subscription(to: topics, since: Advertisement.start(at: node.now))
        var advertised = Dictionary(people.map { ($0, AdvertisedDevices(of: $0)) }) { first, _ in first }
        // What is learned, and what could not be yet.
        var news: Set<IdentityKey> = []
        while !Task.isCancelled {
            do throws(PushClientError) {
                for arrival in try await subscription.next(from: node) {
                    guard let person = followed[arrival.topic], var devices = advertised[person] else { continue }
                    devices.take(arrival.message, sentAt: arrival.sentAt, to: identity?.privateKey)
                    if devices != advertised[person] { news.insert(person) }
                    advertised[person] = devices
                }
                for person in news {
                    if let devices = advertised[person] { try await learn(devices, of: person) }
                    news.remove(person)
                }
            } catch {
                listeners.send(.troubled(error))
            }
            try? await node.exchange.sleep(for: interval)
        }
    }

    /// What an advertisement leaves open is asked for, unless it is known.
    private func learn(_ advertised: AdvertisedDevices, of person: IdentityKey) async throws(PushClientError) {
        let known = try await state.devices(of: person, for: publicKey)?.devices ?? []
        var devices = advertised.devices.map { device in
            guard device.accessToken == nil else { return device }
            return known.first { $0.registration == device.registration && $0.accessToken != nil } ?? device
        }
        if devices.contains(where: { $0.accessToken == nil }) { devices = try await query(person) + devices }
        _ = try await keep(KnownDevices(devices, lastActiveFirst: advertised.installationIDs, learnedAt: node.now), of: person)
    }
}

extension DeviceInfo {
    /// What never changes without a new version.
    fileprivate var registration: [String] { [server.hex, installationID, "\(version)"] }
}
