import Envelope

extension SendingClient {
    /// Reads contacts' advertisements, first from the node's store and then live, until the task is cancelled. Follow contacts with whom
    /// the user exchanges messages: their devices are then known before a push is due.
    ///
    /// - Parameter owners: The owners' chat keys, or their keys for anonymous mode.
    public func follow(_ owners: [PublicKey]) async {
        var followed: [TopicName: AdvertisedDevices] = [:]
        for owner in owners { followed[.contactCode(owner.publicKey)] = AdvertisedDevices(of: owner) }
        var subscription = Subscription(to: Array(followed.keys), since: Advertisement.start(at: node.now))
        // The topics with messages that were not processed yet.
        var changedTopics: Set<TopicName> = []
        // The last reported error, which is reported once.
        var trouble: PushClientError?
        while !Task.isCancelled {
            do {
                for arrival in try await subscription.next(from: node) {
                    let before = followed[arrival.topic]
                    followed[arrival.topic]?.take(arrival.message, sentAt: arrival.sentAt, to: identity?.privateKey)
                    if followed[arrival.topic] != before { changedTopics.insert(arrival.topic) }
                }
                for topic in changedTopics {
                    if let advertised = followed[topic] { try await learn(advertised) }
                    changedTopics.remove(topic)
                }
                if let failure = subscription.historyFailure {
                    if failure != trouble { report(.failing(failure)) }
                    trouble = failure
                    try await subscription.wait(atMost: Self.followingRetryDelay, node)
                } else {
                    trouble = nil
                    await subscription.wait()
                }
            } catch {
                let failure = error as? PushClientError
                if let failure, failure != trouble { report(.failing(failure)) }
                trouble = failure
                try? await node.exchange.sleep(for: Self.followingRetryDelay)
            }
        }
    }

    /// Queries the devices that an advertisement leaves open, unless they are known.
    private func learn(_ advertised: AdvertisedDevices) async throws {
        let owner = advertised.owner
        let known = try await known(owner)
        var devices = advertised.devices.map { device in
            guard device.accessToken == nil else { return device }
            return (known?.devices ?? []).first { $0.registration == device.registration && $0.accessToken != nil } ?? device
        }
        var others: [DeviceInfo] = []
        if devices.contains(where: { $0.accessToken == nil }) {
            let answered = try await query(owner)
            (devices, others) = (answered.verified + devices, answered.notVerified)
        }
        _ = try await keep(
            KnownDevices(devices, others: others, lastActiveFirst: advertised.installationIDs, learnedAt: node.now, after: known), of: owner
        )
    }
}

extension DeviceInfo {
    /// The fields that change only with the version.
    fileprivate var registration: [String] { [server.hex, installationID, "\(version)"] }
}
