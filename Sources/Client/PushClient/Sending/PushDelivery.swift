import Bytes
import StatusCrypto

/// A message's delivery to some devices: the server, the token, and the next step after a failure.
///
/// A value that neither waits nor sends. Its time is the duration since the start. A device never has two requests in progress, and none
/// after a server has accepted (71/STATUS-PUSH-NOTIFICATION-SERVER, "only one notification MUST be sent").
package struct PushDelivery: Sendable {
    /// "A client SHOULD wait at least 3 seconds, after which the request MAY be retried against a different server."
    package static let replyWait = Duration.seconds(3)
    /// The time to wait for the last server: its late response is still useful.
    package static let longestReplyWait = Duration.seconds(10)
    /// How often to retry after a server's internal error, if there is no other server. That server has already retried for about 2 s
    /// itself.
    package static let maximumRetryCount = 2
    package static let retryDelay = Duration.seconds(1)

    /// The next step.
    package enum Action: Hashable, Sendable {
        /// Send a push request for devices to a server.
        case request(server: PublicKey, devices: [PushDevice])
        /// Query an owner's current tokens, then call ``learned(_:of:at:)``.
        case query(owner: PublicKey)
    }

    /// A device with its servers, the best first.
    package struct Target: Sendable {
        package let owner: PublicKey
        package let installationID: String
        package let routes: [Route]

        package init(owner: PublicKey, installationID: String, routes: [Route]) {
            self.owner = owner
            self.installationID = installationID
            self.routes = routes
        }
    }

    /// A server, and the token that it accepts.
    package struct Route: HoldsSecret, Hashable, Sendable {
        package let server: PublicKey
        package let accessToken: String

        package init(server: PublicKey, accessToken: String) {
            self.server = server
            self.accessToken = accessToken
        }
    }

    private var devices: [SendingToDevice]

    package init(to targets: [Target]) {
        devices = targets.map(SendingToDevice.init)
    }

    /// The reports, ordered like the targets, or nil until the delivery has finished.
    package var reports: [DeliveryReport]? {
        let reports = devices.compactMap(\.report)
        return reports.count == devices.count ? reports : nil
    }

    /// Whether a server has reported that it does not know the device any more.
    package func isForgotten(_ device: DeviceInfo, of owner: PublicKey) -> Bool {
        devices.contains {
            $0.owner == owner && $0.installationID == device.installationID && $0.forgottenBy.contains(device.server)
        }
    }

    /// Returns the steps due now. A single request covers all devices at the same server.
    package mutating func next(at time: Duration) -> [Action] {
        var queries: [Action] = []
        var requests: [(server: PublicKey, devices: [PushDevice])] = []
        for index in devices.indices {
            switch devices[index].next(at: time) {
            case nil: break
            case .query:
                let query = Action.query(owner: devices[index].owner)
                if !queries.contains(query) { queries.append(query) }
            case .request(let server, let device):
                if let place = requests.firstIndex(where: { $0.server == server }) {
                    requests[place].devices.append(device)
                } else {
                    requests.append((server, [device]))
                }
            }
        }
        return requests.map { .request(server: $0.server, devices: $0.devices) } + queries
    }

    /// Records a server's reports, at any time.
    package mutating func received(_ reports: [DeviceReport], from server: PublicKey, at time: Duration) {
        for report in reports {
            for index in devices.indices
            where devices[index].installationID == report.installationID && devices[index].keyHash == report.keyHash {
                devices[index].received(report.outcome, from: server, at: time)
            }
        }
    }

    /// Records the devices that a query for an owner returned.
    package mutating func learned(_ known: [DeviceInfo], of owner: PublicKey, at time: Duration) {
        for index in devices.indices where devices[index].owner == owner {
            devices[index].learned(Route.routes(to: devices[index].installationID, among: known), at: time)
        }
    }
}

extension PushDelivery.Route {
    /// Returns a device's servers, the latest registration first.
    static func routes(to installationID: String, among devices: [DeviceInfo]) -> [Self] {
        devices.filter { $0.installationID == installationID }.sorted { $0.version > $1.version }
            .compactMap { device in device.accessToken.map { Self(server: device.server, accessToken: $0) } }
    }
}
