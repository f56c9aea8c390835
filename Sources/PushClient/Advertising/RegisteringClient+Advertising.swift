import Envelope
import StatusCrypto
import Wire

extension RegisteringClient {
    /// Tells on the contact-code topic which servers notify this device, and how: all that confirmed everything. Once the device is to be
    /// registered nowhere any more, tells that, so that nobody goes on asking.
    ///
    /// Needs no calling: ``register(_:with:)``, ``unregister()`` and ``run()`` advertise what is new, and repeat it from time to time.
    /// - Throws: ``PushClientError``; when there is nothing to advertise, nothing is sent.
    public func advertise() async throws(PushClientError) {
        guard let servers = plan.serversToAdvertise else { return }
        var infos = servers.map {
            PushNotificationQueryInfo(
                $0, installationID: plan.installationID, accessToken: plan.accessToken, isTokenPublic: plan.advertisedToken != nil,
                of: identity.privateKey)
        }
        if infos.isEmpty { infos = [.init(withdrawing: plan.installationID, version: plan.version, of: identity.privateKey)] }
        let payloads = try node.sealing { random throws(RFC26.DataTooLong) in
            try Advertisement.seal(infos, by: identity.privateKey, segmenter: node.segmenter, using: &random)
        }
        // Before it is sent: what changes meanwhile is news again.
        let before = plan.advertisement
        plan.noteAdvertisement(of: servers, at: node.now)
        do {
            try await node.exchange.publish(payloads, on: .contactCode(identity.privateKey.publicKey))
        } catch {
            plan.advertisement = before
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
