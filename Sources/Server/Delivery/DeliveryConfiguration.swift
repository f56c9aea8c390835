import Bytes
import PushProtocol
import Store
import Wire

package struct DeliveryConfiguration: Sendable {
    /// The servers of Apple that a gorush posts to. A gorush with both kinds of apps sends some pushes to the wrong servers (GORUSH.md §0
    /// fact 9).
    package enum APNsEnvironment: String, Sendable, CaseIterable {
        case production
        case sandbox
    }

    /// Where a gorush is, and how to connect to it.
    package struct Endpoint: HoldsSecret, Sendable {
        /// `http` or `https`, with a path if gorush is behind a proxy.
        package var url: String
        /// Headers such as `Authorization` for a proxy in front of gorush, because gorush itself doesn't authenticate (GORUSH.md §9).
        package var headers: [(name: String, value: String)]
        /// A PEM file's path. Nil means the certificates that the system trusts.
        package var certificateAuthorityFile: String?
        package var environment: APNsEnvironment

        package init(
            url: String, headers: [(name: String, value: String)] = [], certificateAuthorityFile: String? = nil,
            environment: APNsEnvironment = .production
        ) {
            self.url = url
            self.headers = headers
            self.certificateAuthorityFile = certificateAuthorityFile
            self.environment = environment
        }

        /// The URL without user name and password, for logs and operators.
        package var publicURL: String { url.replacing(/\/\/[^\/]*@/, with: "//") }

        /// Whether both URLs are the same up to trailing slashes.
        package func isSameGorush(as other: Endpoint) -> Bool {
            url.replacing(/\/+$/, with: "") == other.url.replacing(/\/+$/, with: "")
        }
    }

    /// A set of pushes with its own queue, connections and breaker.
    package struct Route: Sendable {
        package enum Pushes: Sendable, Equatable {
            /// The pushes of apps, by bundle id.
            case apnTopics([String])
            /// All pushes for a platform, except for bundle ids that have a route.
            case platform(GorushPlatform)
        }

        /// The name in metrics, logs and the database.
        package var name: String
        package var pushes: Pushes
        /// The route's gorush. Nil means the default gorush.
        package var endpoint: Endpoint?
        /// Its notifications' templates. Nil means the platform's.
        package var templates: NotificationTemplates?

        package init(name: String, pushes: Pushes, endpoint: Endpoint? = nil, templates: NotificationTemplates? = nil) {
            self.name = name
            self.pushes = pushes
            self.endpoint = endpoint
            self.templates = templates
        }

        package var platform: GorushPlatform {
            switch pushes {
            case .apnTopics: .ios
            case .platform(let platform): platform
            }
        }
    }

    /// How many notifications a POST contains.
    package enum BatchMode: String, Sendable, CaseIterable {
        /// A single device per request, because only then does gorush report every failure (GORUSH.md §2.4 d).
        case single
        /// All due notifications, up to gorush's limit. A few failures in a thousand count as sent.
        case batch
    }

    /// The gorush for all routes that don't set their own.
    package var endpoint: Endpoint
    /// The routes in addition to `ios` and `android`, which always exist for each platform's remaining pushes.
    package var routes: [Route] = []
    package var dataFormat = GorushDataFormat.rfc71
    package var ios = NotificationTemplates()
    package var android = NotificationTemplates()
    package var batchMode = BatchMode.single
    /// The number of bytes of which each payload for Apple or Google is a multiple, so that they do not see how long a message is, or 0 for
    /// no padding.
    package var padPayload = 0
    /// A POST's timeout. gorush waits up to 60 s for Apple, and Google's client as long (GORUSH.md §2.5).
    package var timeout = Duration.seconds(60)
    /// A probe's timeout. gorush responds to probes without Apple or Google.
    package var probeTimeout = Duration.seconds(5)
    /// How many requests a route may have in flight, whatever gorush's number of workers.
    package var maximumRequestsInFlight = 256
    /// Whether a gorush that hides its configuration counts as one in sync mode.
    package var trustsSyncMode = false
    /// The maximum number of notifications in a request. gorush may have a lower limit.
    package var maximumNotificationsPerRequest = 100
    /// The maximum number of pushes that wait for a route. Further pushes are refused.
    package var maximumQueuedPushCount = ProtocolLimits.maximumQueuedPushCount
    /// The time after its acceptance at which a push expires.
    package var lifetime = ProtocolLimits.pushLifetime
    /// Bundle ids of the operator's apps that aren't set for a route. If Apple refuses a bundle id that is set here or there, the
    /// configuration is at fault.
    package var knownBundleIDs: Set<String> = []
    /// The time for attempts in flight to finish at a shutdown.
    package var drainLimit = Duration.seconds(10)

    package init(endpoint: Endpoint) {
        self.endpoint = endpoint
    }
}

extension DeliveryConfiguration {
    /// How many connections a route may have: for pushes, for calls beside them and for the probe.
    package var connectionCount: Int { maximumRequestsInFlight + WaitingCalls.maximumInFlight + 1 }

    func endpoint(of route: Route) -> Endpoint { route.endpoint ?? endpoint }

    func knownBundleIDs(of route: Route) -> Set<String> {
        if case .apnTopics(let topics) = route.pushes { knownBundleIDs.union(topics) } else { knownBundleIDs }
    }

    func templates(of route: Route) -> NotificationTemplates {
        if let templates = route.templates { return templates }
        return switch route.platform {
        case .ios: ios
        case .android: android
        }
    }

    /// All routes, with the routes for each platform's remaining pushes last. If two routes have the same name, the first counts.
    package var allRoutes: [Route] {
        var names: Set<String> = []
        var all = routes.filter { names.insert($0.name).inserted }
        for (name, platform) in [("ios", GorushPlatform.ios), ("android", .android)]
        where !all.contains(where: { $0.pushes == .platform(platform) }) {
            // Every push needs a route, even if the operator has given its name to another route.
            var route = Route(name: name, pushes: .platform(platform))
            while !names.insert(route.name).inserted { route.name += "-rest" }
            all.append(route)
        }
        return all
    }

    /// Returns the names of a platform's routes, or else the route of that name, if there is one.
    package func routes(named name: String) -> [String] {
        let ofPlatform = allRoutes.filter { $0.platform.label.rawValue == name }
        return (ofPlatform.isEmpty ? allRoutes.filter { $0.name == name } : ofPlatform).map(\.name)
    }

    /// The names of all routes and platforms.
    package var routeNames: [String] { Set(allRoutes.flatMap { [$0.name, $0.platform.label.rawValue] }).sorted() }

    /// The routes by token type and bundle id, for the outbox. If two routes have the same bundle id or platform, the first counts.
    var assignments: Set<RouteAssignment> {
        var taken: Set<[String]> = []
        let all = allRoutes.flatMap { route in
            switch route.pushes {
            case .apnTopics(let topics): topics.map { RouteAssignment(tokenType: .apn, apnTopic: $0, route: route.name) }
            case .platform(.ios): [RouteAssignment(tokenType: .apn, apnTopic: "", route: route.name)]
            case .platform(.android): [RouteAssignment(tokenType: .firebase, apnTopic: "", route: route.name)]
            }
        }
        return Set(all.filter { taken.insert(["\($0.tokenType.rawValue)", $0.apnTopic]).inserted })
    }
}
