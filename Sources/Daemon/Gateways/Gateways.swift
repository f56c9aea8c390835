import Delivery
import Envelope
import GatewayHTTP
import GatewayServer
import HTTPClient
import Logging
import NextcloudProxy
import SoftphonePNM
import Store

/// What the gateways are made of.
struct GatewayParts {
    var store: any GatewayOutbox & ProxyStore
    var delivery: DeliveryLoop?
    var http: HTTPClient
    var clock: ContinuousClock
    var wallClock: WallClock
    var workerCount: Int
    var logger: Logger
}

extension GatewaySettings {
    /// The listener with all that is configured behind it.
    func server(_ parts: GatewayParts, onListening: @escaping @Sendable (String) async -> Void) -> GatewayServer {
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
        if let softphoneApps {
            gateways.append(SoftphoneGateway(apps: softphoneApps, outbox: outbox, logger: parts.logger))
        }
        return GatewayServer(
            configuration: .init(host: listen.host, port: listen.port, clientAddress: ClientAddress(trustedProxies: trustedProxies)),
            gateways: gateways, clock: parts.clock, logger: parts.logger, onListening: onListening)
    }
}
