import Bytes
import Delivery
import Envelope
import GatewayDelivery
import GatewayHTTP
import HTTPClient
import Logging
import NextcloudOrigin
import NextcloudProxy
import Settings
import SoftphonePNM
import StatusCrypto
import Store

/// The values that the gateways need.
struct GatewayParts {
    var store: any GatewayOutbox & ProxyStore & OriginStore
    var identity: PrivateKey
    var delivery: DeliveryLoop?
    /// The delivery of the Nextcloud origin, or nil without one.
    var proxyDelivery: ProxyDelivery?
    var http: HTTPClient
    var clock: ContinuousClock
    var wallClock: WallClock
    var workerCount: Int
    var logger: Logger
}

extension GatewaySettings {
    /// Creates the listener with every configured gateway.
    ///
    /// - Parameter maximumConnectionCount: The maximum number of connections that the listener accepts.
    func server(
        _ parts: GatewayParts, maximumConnectionCount: Int, onListening: @escaping @Sendable (String) async -> Void
    ) -> GatewayServer {
        let outbox = GatewayDelivery(store: parts.store, delivery: parts.delivery, clock: parts.clock, wallClock: parts.wallClock)
        var gateways: [any Gateway] = []
        if var nextcloudProxy {
            nextcloudProxy.configuration.workerCount = parts.workerCount
            gateways.append(
                NextcloudProxy(
                    configuration: nextcloudProxy.configuration, store: parts.store, outbox: outbox,
                    proof: HTTPIdentityProof(http: parts.http, trustedHosts: nextcloudProxy.proofHosts), clock: parts.clock,
                    wallClock: parts.wallClock, logger: parts.logger))
        }
        if let nextcloudOrigin {
            gateways.append(
                NextcloudOrigin(
                    configuration: nextcloudOrigin.configuration, store: parts.store,
                    backend: HTTPBackend(http: parts.http, url: nextcloudOrigin.authenticationURL),
                    sealingKey: parts.identity.sealingKey(for: "nextcloud user keys"), clock: parts.clock, wallClock: parts.wallClock,
                    logger: parts.logger, onWaiting: { [proxyDelivery = parts.proxyDelivery] in proxyDelivery?.wake($0) }))
        }
        if let softphoneApps {
            gateways.append(SoftphoneGateway(apps: softphoneApps, outbox: outbox, clock: parts.clock, logger: parts.logger))
        }
        return GatewayServer(
            configuration: .init(
                host: listen.host, port: listen.port, clientAddress: ClientAddress(trustedProxies: trustedProxies),
                maximumConnectionCount: maximumConnectionCount),
            gateways: gateways, clock: parts.clock, logger: parts.logger, onListening: onListening)
    }
}

extension PrivateKey {
    /// Derives a key for one purpose from the server key. The database alone does not yield the key, and no other file is needed.
    fileprivate func sealingKey(for purpose: String) -> SymmetricKey {
        let key = withExposedBytes { FixedBytes<32>($0) } ?? FixedBytes()
        return SymmetricKey(HMACSHA256.authenticationCode(for: Array(purpose.utf8).span, key: key))
    }
}
