/// What the gorush of a route says about itself, and what follows from that.
struct GorushProfile: Sendable {
    private let platform: GorushPlatform
    private let environment: DeliveryConfiguration.APNsEnvironment
    private let maximumRequestsInFlight: Int
    /// The number of routes that share the gorush, this one included.
    private let routesOfEndpoint: Int

    /// As gorush last described itself; nil if it does not.
    private(set) var instance: GorushInstance?
    /// Why gorush could not be used when it was last asked.
    private(set) var issue: String?
    /// Whether gorush was ever asked, and responded or did not in time.
    private(set) var wasAsked = false
    /// Whether gorush was asked since the start and since a connection last broke. Another configuration may be in force otherwise.
    private(set) var isCurrent = false
    /// Whether there has ever been a push: a platform that nobody uses may be disabled.
    private var hasPushes = false
    /// Misconfigurations that lose pushes although gorush accepts them, in words for an operator.
    private(set) var warnings: [String] = []

    init(route: DeliveryConfiguration.Route, configuration: DeliveryConfiguration, routesOfEndpoint: Int) {
        platform = route.platform
        environment = configuration.endpoint(of: route).environment
        maximumRequestsInFlight = configuration.maximumRequestsInFlight
        self.routesOfEndpoint = routesOfEndpoint
    }

    // MARK: Events

    mutating func probed(_ probe: GorushClient.Probe) {
        (wasAsked, isCurrent) = (true, true)
        issue =
            switch probe {
            case .unreachable: "gorush is not reachable"
            case .unusable(let issue): issue
            case .silent, .instance: nil
            }
        switch probe {
        case .instance(let instance): self.instance = instance
        case .silent: instance = nil
        // The last description still holds: a gorush that is away says nothing new.
        case .unreachable, .unusable: break
        }
        update()
    }

    /// A connection broke, so gorush may have been restarted with another configuration.
    mutating func connectionBroke() { isCurrent = false }

    /// gorush took a request.
    mutating func worked() { issue = nil }

    /// A push is posted.
    mutating func used() {
        guard !hasPushes else { return }
        hasPushes = true
        update()
    }

    private mutating func update() {
        let use = GorushInstance.Use(
            platform: platform, environment: environment, hasPushes: hasPushes,
            workerCount: Self.wantedWorkerCount(
                routes: routesOfEndpoint, maximumRequestsInFlight: maximumRequestsInFlight))
        warnings = instance?.warnings(for: use) ?? []
    }

    // MARK: Conclusions

    /// Why nothing is posted to this gorush.
    var configurationFault: String? { instance?.configurationFault }

    /// Whether gorush sends pushes to the other one of Apple's environments, where every device token is invalid.
    var contradictsEnvironment: Bool { platform == .ios && instance?.contradicts(environment) == true }

    /// Whether gorush says that it does not serve the platform.
    var isDisabled: Bool {
        switch platform {
        case .ios: instance?.ios?.enabled == false
        case .android: instance?.android?.enabled == false
        }
    }

    /// The number of notifications of this route that may be in gorush's queue: half of it, for others may use gorush too, shared by
    /// its routes.
    var queueShare: Int {
        max(1, max(1, (instance?.queueCount ?? GorushInstance.defaultQueueCount) / 2) / routesOfEndpoint)
    }

    /// The number of workers of gorush that this route may use; nil if gorush does not say. More notifications would only wait in gorush,
    /// where a kill makes them uncertain. Each of the other routes finds free workers whatever this one has in flight.
    var workerShare: Int? {
        guard let workers = instance?.core.worker_num, workers > 0 else { return nil }
        return max(1, workers - (routesOfEndpoint - 1) * max(1, workers / (2 * routesOfEndpoint)))
    }

    /// The number of workers for the requests that all routes have in flight at first, and half as many to spare.
    static func wantedWorkerCount(routes: Int, maximumRequestsInFlight: Int) -> Int {
        routes * min(Concurrency.initialWindow, maximumRequestsInFlight) * 3 / 2
    }
}
