import Bytes
import Delivery
import HTTPClient
import HTTPGateways
import Settings
import StatusCrypto

extension Foundations {
    /// Creates the delivery to push proxies, or nil without a Nextcloud origin.
    func proxyDelivery() -> ProxyDelivery? {
        settings.gateways?.nextcloudOrigin.map { origin in
            ProxyDelivery(
                store: store, http: HTTPClient(), allowsLocalProxies: origin.configuration.allowsLocalProxies, clock: clock,
                wallClock: wallClock, logger: logger)
        }
    }

    /// Creates the listener with every configured gateway, or nil if none is configured.
    func gateways(_ parts: ServerParts, _ readiness: Readiness) -> ListeningService? {
        guard let settings = settings.gateways else { return nil }
        let http = HTTPClient()
        let outbox = GatewayDelivery(store: store, delivery: parts.delivery, clock: clock, wallClock: wallClock)
        let gateways: [(any Gateway)?] = [
            settings.nextcloudProxy.map { nextcloudProxy($0, outbox, http) },
            settings.nextcloudOrigin.map { nextcloudOrigin($0, parts.proxyDelivery, http) },
            settings.softphoneApps.map { SoftphoneGateway(apps: $0, outbox: outbox, clock: clock, logger: logger) },
        ]
        let server = GatewayServer(
            configuration: .init(
                host: settings.listen.host, port: settings.listen.port,
                clientAddress: ClientAddress(trustedProxies: settings.trustedProxies), maximumConnectionCount: connections.gateways),
            gateways: gateways.compactMap(\.self), clock: clock, logger: logger, onListening: { readiness.gatewaysListen(on: $0) })
        return ListeningService(server, setting: "gateways.listen", address: settings.listen)
    }

    private func nextcloudProxy(_ settings: GatewaySettings.Proxy, _ outbox: GatewayDelivery, _ http: HTTPClient) -> NextcloudProxy {
        var configuration = settings.configuration
        configuration.workerCount = workerCount
        return NextcloudProxy(
            configuration: configuration, store: store, outbox: outbox,
            proof: HTTPIdentityProof(http: http, trustedHosts: settings.proofHosts), clock: clock, wallClock: wallClock, logger: logger)
    }

    private func nextcloudOrigin(
        _ settings: GatewaySettings.Origin, _ proxyDelivery: ProxyDelivery?, _ http: HTTPClient
    ) -> NextcloudOrigin {
        NextcloudOrigin(
            configuration: settings.configuration, store: store,
            backend: HTTPAuthenticationBackend(http: http, url: settings.authenticationURL),
            sealingKey: identity.sealingKey(for: "nextcloud user keys"), clock: clock, wallClock: wallClock, logger: logger,
            onWaiting: { proxyDelivery?.wake($0) })
    }
}

extension PrivateKey {
    /// Derives a key for a single purpose from the server key. The database alone does not yield the key, and no other file is needed.
    fileprivate func sealingKey(for purpose: String) -> SymmetricKey {
        let key = withExposedBytes { FixedBytes<32>($0) } ?? FixedBytes()
        return SymmetricKey(HMACSHA256.authenticationCode(for: Array(purpose.utf8).span, key: key))
    }
}
