import Bytes
import Envelope
import StatusCrypto
import Tasks
import Wire

extension RegisteringClient {
    /// Advertises on the contact-code topic each server that has confirmed the whole registration. After an unregistration from all
    /// servers, it advertises that there is none, so that senders stop querying.
    ///
    /// A call is optional: ``register(_:with:)``, ``unregister()`` and ``run()`` advertise changes and repeat the advertisement from time
    /// to time.
    /// - Throws: ``PushClientError``. Without anything to advertise, nothing is sent.
    public func advertise() async throws {
        guard let servers = plan.serversToAdvertise else { return }
        let advertisement = Advertised(servers: servers, accessToken: plan.advertisedToken, time: node.now)
        var infos = servers.map {
            PushNotificationQueryInfo(
                $0, installationID: plan.installationID, accessToken: AccessToken(plan.accessToken),
                isTokenPublic: plan.advertisedToken != nil, of: identity.privateKey)
        }
        if infos.isEmpty { infos = [.init(withdrawing: plan.installationID, version: plan.version, of: identity.privateKey)] }
        let payloads = try node.sealing { random throws(RFC26.DataTooLong) in
            try Advertisement.seal(infos, by: identity.privateKey, segmenter: node.segmenter, using: &random)
        }
        try await node.exchange.publish(payloads, on: .contactCode(identity.privateKey.publicKey))
        // A change during the publication counts as new, because this is what was published.
        try await update { plan, _ in plan.advertisement = advertisement }
        report(.advertised(serverCount: servers.count))
    }

    func nextAdvertisement(after now: Timestamp) -> Timestamp? {
        advertisingInterval.flatMap { plan.nextAdvertisement(after: now, interval: $0) }
    }

    func advertiseIfDue() async throws {
        // Another call may be advertising the same.
        let hasTurn: Void? = await isAdvertising.wait { isAdvertising in
            guard !isAdvertising else { return nil }
            isAdvertising = true
            return ()
        }
        guard hasTurn != nil else { throw CancellationError() }
        defer { isAdvertising.update { $0 = false } }
        let now = node.now
        guard let moment = nextAdvertisement(after: now), moment <= now else { return }
        try await advertise()
    }
}
