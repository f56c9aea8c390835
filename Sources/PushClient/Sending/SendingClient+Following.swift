import Envelope

extension SendingClient {
    /// Reads what people advertise, first in the node's store and then live, until the task is cancelled. For contacts with whom messages
    /// are exchanged: their devices are then known before a push is due.
    ///
    /// - Parameters:
    ///   - people: by their chat keys, or their keys of anonymous mode. The node is asked for ten of them at a time.
    ///   - interval: how often the node is asked.
    public func follow(_ people: [IdentityKey], every interval: Duration = defaultFollowingInterval) async {
        var followed: [TopicName: AdvertisedDevices] = [:]
        for person in people { followed[.contactCode(person.publicKey)] = AdvertisedDevices(of: person) }
        var subscription = Subscription(to: Array(followed.keys), since: Advertisement.start(at: node.now))
        // On which topics there was something that is not learned yet.
        var news: Set<TopicName> = []
        // Told once, however often it is met.
        var trouble: PushClientError?
        while !Task.isCancelled {
            do throws(PushClientError) {
                for arrival in try await subscription.next(from: node) {
                    let before = followed[arrival.topic]
                    followed[arrival.topic]?.take(arrival.message, sentAt: arrival.sentAt, to: identity?.privateKey)
                    if followed[arrival.topic] != before { news.insert(arrival.topic) }
                }
                for topic in news {
                    if let advertised = followed[topic] { try await learn(advertised) }
                    news.remove(topic)
                }
                trouble = nil
            } catch {
                if error != trouble { listeners.send(.troubled(error)) }
                trouble = error
            }
            try? await node.exchange.sleep(for: interval)
        }
    }

    /// What an advertisement leaves open is asked for, unless it is known.
    private func learn(_ advertised: AdvertisedDevices) async throws(PushClientError) {
        let person = advertised.person
        let known = try await known(person)?.devices ?? []
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
