import Delivery
import Engine
import HTTPGateways
import Observation
import Transport

/// What the pages, metrics and conditions of a server look at.
struct ServerParts: Sendable {
    let directory: TopicDirectory
    let transport: any MessageTransport
    let engine: Engine
    /// Nil in a dry run.
    let delivery: DeliveryLoop?
    /// Nil without a Nextcloud origin.
    let proxyDelivery: ProxyDelivery?
    let canary: Canary?
    let backup: AutomaticBackup?
    let observer: StoreObserver
}
