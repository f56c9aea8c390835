/// How a route's gorush is configured, and what follows from that.
struct GorushProfile: Sendable {
    private let platform: GorushPlatform
    private let environment: DeliveryConfiguration.APNsEnvironment
    private let maximumRequestsInFlight: Int
    /// The number of routes that share the gorush, this route included.
    private let routesOfEndpoint: Int

    /// gorush's last description of itself, or nil if it doesn't show any.
    private(set) var instance: GorushInstance?
    /// Why gorush could not be used at the last probe, or nil if it could.
    private(set) var issue: String?
    /// Whether a probe of gorush has ended, with or without a response.
    private(set) var wasProbed = false
    /// Whether a probe has ended since the start and since a connection last broke. Otherwise gorush may have another configuration.
    private(set) var isCurrent = false
    /// Whether the route has ever had a push: an unused platform may be disabled.
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
        (wasProbed, isCurrent) = (true, true)
        issue =
            switch probe {
            case .unreachable(let reason): reason.issue
            case .unusable(let issue): issue
            case .silent, .instance: nil
            }
        switch probe {
        case .instance(let instance): self.instance = instance
        case .silent: instance = nil
        // The last description still holds while gorush does not respond.
        case .unreachable, .unusable: break
        }
        update()
    }

    /// Records that a connection broke: gorush may have been restarted with another configuration.
    mutating func connectionBroke() { isCurrent = false }

    /// Records that gorush accepted a request.
    mutating func worked() { issue = nil }

    /// Records that a push is posted.
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

    /// Why nothing is posted to this gorush, or nil if there is no reason.
    var configurationFault: String? { instance?.configurationFault }

    /// Whether gorush sends pushes to Apple's other environment, where every device token is invalid.
    var contradictsEnvironment: Bool { platform == .ios && instance?.contradicts(environment) == true }

    /// Whether gorush's configuration disables the platform.
    var isDisabled: Bool {
        switch platform {
        case .ios: instance?.ios.enabled == false
        case .android: instance?.android.enabled == false
        }
    }

    /// The maximum number of notifications of this route in gorush's queue: half of it is for other programs, and the routes share the
    /// rest.
    var queueShare: Int {
        max(1, max(1, (instance?.queueCount ?? GorushInstance.defaultQueueCount) / 2) / routesOfEndpoint)
    }

    /// How many of gorush's workers this route may use, or nil if gorush does not say. More notifications would only wait in gorush, where
    /// a kill makes them uncertain. With this limit, every other route finds free workers.
    var workerShare: Int? {
        guard let workers = instance?.core.worker_num, workers > 0 else { return nil }
        return max(1, workers - (routesOfEndpoint - 1) * max(1, workers / (2 * routesOfEndpoint)))
    }

    /// The number of workers for the requests that all routes have in flight at first, and half as many to spare.
    static func wantedWorkerCount(routes: Int, maximumRequestsInFlight: Int) -> Int {
        routes * min(CongestionWindow.initialWindow, maximumRequestsInFlight) * 3 / 2
    }
}
