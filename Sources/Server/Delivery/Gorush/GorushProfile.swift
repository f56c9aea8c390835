/// How a route's gorush is configured, and what follows from that.
///
/// Times are monotonic and count from the delivery's start.
struct GorushProfile: Sendable {
    /// gorush's workers where it doesn't say how many it has.
    static let defaultWorkerCount = 32
    /// gorush hides its configuration after so many reads without one, over at least the interval. A proxy may fail once.
    static let hiddenCount = 3
    static let hiddenInterval = Duration.seconds(15)

    private let platform: GorushPlatform
    private let environment: DeliveryConfiguration.APNsEnvironment
    private let maximumRequestsInFlight: Int
    private let maximumNotificationsPerRequest: Int
    private let trustsSyncMode: Bool
    /// The number of routes that share the gorush, this route included.
    private let routesOfEndpoint: Int

    /// gorush's last description of itself, or nil if it doesn't show any.
    private(set) var instance: GorushInstance?
    /// Why gorush could not be used at the last probe, or nil if it could, or has taken a push since.
    private var probeIssue: String?
    /// When gorush last took a push.
    private var workedAt: Duration?
    /// Whether a probe of gorush has ended, with or without a response.
    private(set) var wasProbed = false
    /// Whether a probe has ended since the start and since a connection last broke. Otherwise gorush may have another configuration.
    private var isCurrent = false
    /// The reads without a configuration since the last one with it, and when the first of them was.
    private var hidden: (count: Int, since: Duration)?
    private var isHidden = false
    /// Why it is hidden.
    private var hiddenReason = Self.hiddenIssue
    /// Whether the route has ever had a push: an unused platform may be disabled.
    private var hasPushes = false
    /// The most notifications that gorush accepts in a request.
    private(set) var maximumNotificationCount: Int
    /// Misconfigurations that lose or delay pushes although gorush accepts them, in words for an operator.
    private(set) var warnings: [String] = []

    init(route: DeliveryConfiguration.Route, configuration: DeliveryConfiguration, routesOfEndpoint: Int) {
        platform = route.platform
        environment = configuration.endpoint(of: route).environment
        maximumRequestsInFlight = configuration.maximumRequestsInFlight
        maximumNotificationsPerRequest = configuration.maximumNotificationsPerRequest
        maximumNotificationCount = configuration.maximumNotificationsPerRequest
        trustsSyncMode = configuration.trustsSyncMode
        self.routesOfEndpoint = routesOfEndpoint
    }

    // MARK: Events

    mutating func probed(_ probe: GorushClient.Probe, at now: Duration) {
        (wasProbed, isCurrent) = (true, true)
        probeIssue =
            switch probe {
            case .unreachable(let reason): reason.issue
            case .unusable(let issue): issue
            case .silent, .half, .instance: nil
            }
        switch probe {
        case .instance(let instance):
            self.instance = instance
            (hidden, isHidden) = (nil, false)
            maximumNotificationCount = min(maximumNotificationsPerRequest, instance.maximumNotificationCount ?? .max)
        case .silent, .half:
            hiddenReason = probe == .half ? Self.halfIssue : Self.hiddenIssue
            hidden = hidden.map { ($0.count + 1, $0.since) } ?? (1, now)
            if let hidden, hidden.count >= Self.hiddenCount, now - hidden.since >= Self.hiddenInterval { isHidden = true }
            if isHidden || trustsSyncMode { instance = nil }
        // The last description still holds while gorush does not respond.
        case .unreachable, .unusable: break
        }
        update()
    }

    /// Records that a connection broke: gorush may have been restarted with another configuration.
    mutating func connectionBroke() { isCurrent = false }

    /// Records that gorush accepted a request.
    mutating func worked(at now: Duration) { (probeIssue, workedAt) = (nil, now) }

    /// Records that the route has pushes.
    mutating func used() {
        guard !hasPushes else { return }
        hasPushes = true
        update()
    }

    /// Records the most notifications that gorush accepts in a request.
    mutating func limitBatch(to count: Int) { maximumNotificationCount = min(maximumNotificationCount, count) }

    private mutating func update() {
        let use = GorushInstance.Use(
            platform: platform, environment: environment, hasPushes: hasPushes,
            routeCount: routesOfEndpoint)
        warnings = (instance?.warnings(for: use) ?? []) + (instance == nil && wasProbed && trustsSyncMode ? [Self.trustWarning] : [])
    }

    // MARK: Conclusions

    static let hiddenIssue = """
        gorush does not show its configuration, so it may lose pushes; let GET /api/config through, or set gorush.trustSyncMode: true if \
        its core.sync is true
        """
    static let halfIssue =
        "gorush answers pushes, but not GET /api/config: one of several gorush behind its address is away, or a proxy drops that request"
    static let trustWarning = "gorush does not show its configuration, and gorush.trustSyncMode trusts that its core.sync is true"

    /// Whether gorush takes pushes over connections that are open, although a probe, which opens a new one, failed: its name is gone from
    /// DNS, or its certificate has expired.
    ///
    /// - Parameter isPaused: Whether it no longer takes pushes.
    private func worksOverOpenConnections(isPaused: Bool, at now: Duration) -> Bool {
        !isPaused && workedAt.map { now - $0 < Belief.interval } ?? false
    }

    /// The conditions that may lose or delay pushes, in words for an operator.
    func warnings(isPaused: Bool, at now: Duration) -> [String] {
        guard let probeIssue, worksOverOpenConnections(isPaused: isPaused, at: now) else { return warnings }
        return warnings + ["gorush takes pushes over open connections only, and new ones fail: \(probeIssue)"]
    }

    /// Why gorush cannot be used, or nil if it can.
    ///
    /// - Parameters:
    ///   - hasProvenDevices: Whether devices wait that have worked. Anyone can register a device on a platform that this server doesn't
    ///     serve, so a disabled platform without them is only a warning.
    ///   - isPaused: Whether gorush doesn't take pushes.
    func issue(hasProvenDevices: Bool, isPaused: Bool, at now: Duration) -> String? {
        if let probeIssue, !worksOverOpenConnections(isPaused: isPaused, at: now) { return probeIssue }
        if let fault = instance?.configurationFault { return fault }
        if isHidden, !trustsSyncMode { return hiddenReason }
        guard isDisabled, hasProvenDevices else { return nil }
        return "gorush has \(platform == .ios ? "ios" : "android").enabled: false, and pushes wait for devices that have worked"
    }

    /// Whether the last probe found a gorush that the route may use.
    var isUsable: Bool {
        probeIssue == nil && instance?.configurationFault == nil && (instance != nil || trustsSyncMode) && !isDisabled
    }

    /// Whether pushes may be posted: gorush was seen to be fit, and not known to be another since.
    var mayPost: Bool { isCurrent && instance?.configurationFault == nil && (instance != nil || trustsSyncMode) && !isDisabled }

    /// Whether gorush sends pushes to Apple's other environment, where every device token is invalid.
    var contradictsEnvironment: Bool { platform == .ios && instance?.contradicts(environment) == true }

    /// Whether gorush's configuration disables the platform.
    var isDisabled: Bool {
        switch platform {
        case .ios: instance?.ios.enabled == false
        case .android: instance?.android.enabled == false
        }
    }

    /// How many of gorush's workers this route may use. More notifications would only wait in gorush, where a kill makes them uncertain.
    ///
    /// - Parameter members: The number of servers that share the gorush, this one included.
    func workerShare(members: Int) -> Int {
        let workers = instance.map { min($0.workerCount, $0.queueCount) } ?? Self.defaultWorkerCount
        return min(maximumRequestsInFlight, max(1, workers / max(1, routesOfEndpoint) / max(1, members)))
    }

    /// The number of workers with which each route has the usual number, and half as many for phones that hang.
    static func wantedWorkerCount(routes: Int) -> Int { routes * defaultWorkerCount * 3 / 2 }
}
