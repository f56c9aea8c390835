/// How one message is pushed to some devices: to which server, with which token, and what next when that fails.
///
/// A value: it neither waits nor sends, and time is what passed since the beginning. For each device one server at a time, and never
/// another once one is known to have accepted (71/STATUS-PUSH-NOTIFICATION-SERVER, "only one notification MUST be sent").
package struct PushDelivery: Sendable {
    /// "A client SHOULD wait at least 3 seconds, after which the request MAY be retried against a different server."
    package static let patience = Duration.seconds(3)
    /// How long the last server is given: an answer that comes late is still worth to know.
    package static let lastPatience = Duration.seconds(10)
    /// How often a server that has trouble is asked again, when there is no other; it tried for about 2 seconds itself.
    package static let maximumRetryCount = 2
    package static let retryDelay = Duration.seconds(1)

    /// What to do next.
    package enum Action: Hashable, Sendable {
        /// Ask a server to notify devices.
        case request(server: IdentityKey, devices: [PushDevice])
        /// Look up the present tokens of a person, and tell with ``learned(_:of:at:)``.
        case query(person: IdentityKey)
    }

    /// A device and where it can be notified, the best server first.
    package struct Target: Sendable {
        package let person: IdentityKey
        package let installationID: String
        package let routes: [Route]

        package init(person: IdentityKey, installationID: String, routes: [Route]) {
            self.person = person
            self.installationID = installationID
            self.routes = routes
        }
    }

    /// A server, and the token it wants to see.
    package struct Route: Hashable, Sendable {
        package let server: IdentityKey
        package let accessToken: String

        package init(server: IdentityKey, accessToken: String) {
            self.server = server
            self.accessToken = accessToken
        }
    }

    private var devices: [DeviceDelivery]

    package init(to targets: [Target]) {
        devices = targets.map(DeviceDelivery.init)
    }

    /// In the order of the targets; nil while it is not over.
    package var reports: [DeliveryReport]? {
        let reports = devices.compactMap(\.report)
        return reports.count == devices.count ? reports : nil
    }

    /// Whether a server said that it does not know a device any more.
    package func isForgotten(_ device: DeviceInfo, of person: IdentityKey) -> Bool {
        devices.contains {
            $0.person == person && $0.installationID == device.installationID && $0.forgottenBy.contains(device.server)
        }
    }

    /// What is to be done now. Devices that one server is to notify go into one request.
    package mutating func next(at time: Duration) -> [Action] {
        var queries: [Action] = []
        var requests: [(server: IdentityKey, devices: [PushDevice])] = []
        for index in devices.indices {
            switch devices[index].next(at: time) {
            case nil: break
            case .query:
                let query = Action.query(person: devices[index].person)
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

    /// Takes in what a server says, whenever it comes.
    package mutating func received(_ reports: [DeviceReport], from server: IdentityKey, at time: Duration) {
        for report in reports {
            for index in devices.indices
            where devices[index].installationID == report.installationID && devices[index].personHash == report.personHash {
                devices[index].received(report.outcome, from: server, at: time)
            }
        }
    }

    /// Takes in what is known of a person's devices after a query.
    package mutating func learned(_ known: [DeviceInfo], of person: IdentityKey, at time: Duration) {
        for index in devices.indices where devices[index].person == person {
            devices[index].learned(Route.routes(to: devices[index].installationID, among: known), at: time)
        }
    }
}

extension PushDelivery.Route {
    /// Where one device can be notified: those who registered it last first.
    static func routes(to installationID: String, among devices: [DeviceInfo]) -> [Self] {
        devices.filter { $0.installationID == installationID }.sorted { $0.version > $1.version }
            .compactMap { device in device.accessToken.map { Self(server: device.server, accessToken: $0) } }
    }
}
