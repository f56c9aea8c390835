import Envelope
import StatusCrypto
import Wire

extension RegisteringClient {
    /// Tells on the contact-code topic which servers notify this device, and how: all that confirmed everything.
    ///
    /// Needs no calling: ``register(_:with:)`` and ``run()`` advertise what is new, and repeat it from time to time.
    /// - Throws: ``PushClientError``; when there is no server to advertise, nothing is sent.
    public func advertise() async throws(PushClientError) {
        let servers = plan.advertisedServers
        guard !servers.isEmpty else { return }
        let infos = servers.map {
            PushNotificationQueryInfo(
                $0, installationID: plan.installationID, accessToken: plan.accessToken, isTokenPublic: plan.advertisedToken != nil,
                of: identity.privateKey)
        }
        let payloads = try PushClientError.sealing { random throws(RFC26.DataTooLong) in
            try Advertisement.seal(infos, by: identity.privateKey, segmenter: node.segmenter, using: &random)
        }
        // Before it is sent: what changes meanwhile is news again.
        plan.noteAdvertisement(at: node.now)
        do {
            try await node.exchange.publish(payloads, on: .contactCode(identity.privateKey.publicKey))
        } catch {
            plan.forgetAdvertisement()
            throw error
        }
        try await save()
        report(.advertised(serverCount: servers.count))
    }

    func nextAdvertisement(after now: Timestamp) -> Timestamp? {
        advertisingInterval.flatMap { plan.nextAdvertisement(after: now, interval: $0) }
    }

    func advertiseIfDue() async throws(PushClientError) {
        let now = node.now
        guard let moment = nextAdvertisement(after: now), moment <= now else { return }
        try await advertise()
    }
}
