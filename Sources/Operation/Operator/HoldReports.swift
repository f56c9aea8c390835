import Delivery
package import Envelope
import Foundation
import Observation
package import Settings
package import Store

/// The routes that an operator holds or resumes by a name.
package struct NamedRoutes: Sendable {
    package let names: Set<String>
    /// The longest hold: half of the time for which accepted pushes wait.
    package let maximumHold: Duration

    /// - Parameter name: The name of a route, or of a platform, which means all its routes.
    package init(_ name: String, of settings: OperatorSettings) throws(Failure) {
        let delivery: DeliveryConfiguration
        do {
            delivery = try settings.settings().delivery ?? DeliveryConfiguration(endpoint: .init(url: ""))
        } catch {
            throw .configuration(error.description)
        }
        names = Set(delivery.routes(named: name))
        maximumHold = delivery.lifetime / 2
        guard !names.isEmpty else {
            throw .usage("\(name) is no platform and no route. There are \(delivery.routeNames.joined(separator: ", ")).")
        }
    }
}

/// The routes that `pushctl hold` holds.
package struct HoldReport: Report {
    private let routes: [String]
    private let since: String
    private let until: String

    package init(holding routes: NamedRoutes, for length: Duration, at now: Timestamp, in store: any PushStore) async throws {
        let others = try await (store.cluster?.members() ?? []).filter {
            $0.state.isRunning && Self.release($0.version) != Self.release(BuildInfo.version)
        }
        guard others.isEmpty else {
            let names = others.map { "\($0.name) (\($0.version))" }.joined(separator: ", ")
            throw Failure.failed("A server of another version would post on: \(names). Update it first, or stop it.")
        }
        let end = now.advanced(by: length)
        try await store.hold(routes.names.map { RouteHold(route: $0, start: now, end: end) })
        self.routes = routes.names.sorted()
        since = Self.text(now)
        until = Self.text(end)
    }

    package var lines: [String] {
        ["held until \(until): \(routes.joined(separator: ", ")). Pushes wait from 2 seconds on, calls do not. End it with pushctl resume."]
    }

    /// The numbers of a version by which servers differ in what they know.
    private static func release(_ version: String) -> [Substring] { Array(version.split(separator: ".").prefix(2)) }

    private static func text(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.nanoseconds) / 1e9).formatted(.iso8601)
    }
}

/// The routes that `pushctl resume` resumes.
package struct ResumeReport: Report {
    private let resumed: [String]

    package init(resuming routes: NamedRoutes, in store: any PushStore) async throws {
        resumed = try await store.resume(routes.names).map(\.route)
    }

    package var lines: [String] { [resumed.isEmpty ? "nothing was held" : "resumed: \(resumed.joined(separator: ", "))"] }
}
