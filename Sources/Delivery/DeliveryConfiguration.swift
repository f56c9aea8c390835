import PushProtocol
import StatusCrypto
import Store
import Wire

/// How pushes are delivered.
package struct DeliveryConfiguration: Sendable {
    /// Which of Apple's servers a gorush speaks to: one that mixes them sends pushes to the wrong one (GORUSH.md §0 fact 9).
    package enum APNsEnvironment: String, Sendable, CaseIterable {
        case production
        case sandbox
    }

    /// Where a gorush is, and how to speak to it.
    package struct Endpoint: HoldsSecret, Sendable {
        /// `http` or `https`, with a path if gorush is behind a proxy.
        package var url: String
        /// Such as `Authorization`, for a proxy: gorush itself has no authentication (GORUSH.md §9).
        package var headers: [(name: String, value: String)]
        /// PEM; nil: the certificates that the system trusts.
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

        /// Whether both are one gorush, which they can be in two spellings.
        package func isSameGorush(as other: Endpoint) -> Bool {
            url.replacing(/\/+$/, with: "") == other.url.replacing(/\/+$/, with: "")
        }
    }

    /// Pushes with a queue, connections and a breaker of their own.
    package struct Route: Sendable {
        package enum Pushes: Sendable, Equatable {
            /// Those of apps, by bundle id.
            case apnTopics([String])
            /// All of a platform that no route with topics takes.
            case platform(GorushPlatform)
        }

        /// In metrics, logs and the database.
        package var name: String
        package var pushes: Pushes
        /// nil: the default.
        package var endpoint: Endpoint?
        /// nil: that of the platform.
        package var template: NotificationTemplate?

        package init(name: String, pushes: Pushes, endpoint: Endpoint? = nil, template: NotificationTemplate? = nil) {
            self.name = name
            self.pushes = pushes
            self.endpoint = endpoint
            self.template = template
        }

        package var platform: GorushPlatform {
            switch pushes {
            case .apnTopics: .ios
            case .platform(let platform): platform
            }
        }
    }

    /// How many notifications go into one POST.
    package enum BatchMode: String, Sendable, CaseIterable {
        /// The same as `single`.
        case automatic = "auto"
        /// One device a request: the only way to hear of every failure (GORUSH.md §2.4 d).
        case single
        /// All that is due, up to gorush's limit. In sync mode a few failures in a thousand count as sent.
        case batch
    }

    /// Where pushes go that no route takes elsewhere.
    package var endpoint: Endpoint
    /// Beside those for the rest of each platform, which are always there: `ios` and `android`.
    package var routes: [Route] = []
    package var dataFormat = GorushDataFormat.rfc71
    package var ios = NotificationTemplate()
    package var android = NotificationTemplate()
    package var batchMode = BatchMode.automatic
    /// For the answer to a POST. In sync mode gorush waits up to 60 s for Apple, and Google's client as long (GORUSH.md §2.5).
    package var timeout = Duration.seconds(60)
    /// For what gorush says of itself, of which nothing is worth waiting for.
    package var probeTimeout = Duration.seconds(5)
    /// A route's requests that wait for an answer, at most: ``Concurrency`` decides how many of them.
    package var maximumRequestsInFlight = 256
    /// A larger batch is not tried, whatever gorush says of itself; it may name a smaller one.
    package var maximumNotificationsPerRequest = 100
    /// Notifications that wait for an answer, of a route; a known queue of gorush lowers it.
    package var maximumNotificationsInFlight = 1_000
    /// Pushes that may wait for a route; the rest is refused.
    package var maximumQueuedPushCount = ProtocolLimits.maximumQueuedPushCount
    /// After that time since it was accepted a push ends as expired.
    package var lifetime = ProtocolLimits.pushLifetime
    /// Bundle ids that Apple must take, beside those of routes and those that it has taken once.
    package var knownBundleIDs: Set<String> = []
    /// How long what is under way may take to end at a shutdown.
    package var drainLimit = Duration.seconds(10)

    package init(endpoint: Endpoint) {
        self.endpoint = endpoint
    }
}

extension DeliveryConfiguration {
    func endpoint(of route: Route) -> Endpoint { route.endpoint ?? endpoint }

    func knownBundleIDs(of route: Route) -> Set<String> {
        if case .apnTopics(let topics) = route.pushes { knownBundleIDs.union(topics) } else { knownBundleIDs }
    }

    func template(of route: Route) -> NotificationTemplate {
        if let template = route.template { return template }
        return switch route.platform {
        case .ios: ios
        case .android: android
        }
    }

    /// All routes, those for the rest of each platform last. A name that is there twice belongs to the first.
    var allRoutes: [Route] {
        var names: Set<String> = []
        var all = routes.filter { names.insert($0.name).inserted }
        for (name, platform) in [("ios", GorushPlatform.ios), ("android", .android)]
        where !all.contains(where: { $0.pushes == .platform(platform) }) {
            // Every push needs a route, also where another has taken the name.
            var route = Route(name: name, pushes: .platform(platform))
            while !names.insert(route.name).inserted { route.name += "-rest" }
            all.append(route)
        }
        return all
    }

    /// Which pushes the outbox puts into the queue of which route. A topic or platform that is there twice belongs to the first.
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
