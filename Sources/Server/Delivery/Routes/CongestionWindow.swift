/// A congestion window that decides how much a route may have in flight.
///
/// While requests fill the window, each round of responses makes it four wider. A request that gorush does not accept halves it.
struct CongestionWindow: Sendable {
    /// Enough for 500 pushes a second at 60 ms each, and within what gorush's usual workers can handle.
    static let initialWindow = 32
    /// With a smaller window, gorush sits idle between requests.
    static let minimumWindow = 4
    static let increment = 4

    private let maximumWindow: Int
    private let maximumNotificationsInFlight: Int
    /// The maximum number of notifications in a request.
    private(set) var maximumBatch: Int
    /// The number of requests that may be in flight.
    private(set) var window: Int
    private(set) var requestsInFlight = 0
    private(set) var notificationsInFlight = 0
    /// The maximum number of notifications for a while after a failure, because attempts without a response may be delivered twice.
    private var carefulBatch = Int.max
    /// The number of responses since the window was changed.
    private var responseCount = 0
    private var wasFull = false
    /// Responses to ignore after the window was halved, because their requests were sent before that.
    private var staleCount = 0

    init(configuration: DeliveryConfiguration) {
        maximumWindow = configuration.maximumRequestsInFlight
        maximumNotificationsInFlight = configuration.maximumNotificationsInFlight
        maximumBatch = configuration.maximumNotificationsPerRequest
        window = min(Self.initialWindow, maximumWindow)
    }

    /// Records posted requests by their numbers of notifications.
    mutating func posted(_ batches: [Int]) {
        requestsInFlight += batches.count
        notificationsInFlight += batches.reduce(0, +)
        if requestsInFlight >= window { wasFull = true }
    }

    /// Records that a request with that number of notifications has ended.
    mutating func ended(_ notificationCount: Int) {
        requestsInFlight -= 1
        notificationsInFlight -= notificationCount
    }

    /// Records that gorush accepted a request.
    mutating func succeeded() {
        carefulBatch = 2 * min(carefulBatch, .max / 2)
        guard staleCount == 0 else { return staleCount -= 1 }
        responseCount += 1
        guard responseCount >= window else { return }
        // An unfilled window doesn't prove that a wider window would work.
        if wasFull { window = min(maximumWindow, window + Self.increment) }
        (responseCount, wasFull) = (0, false)
    }

    /// Records that gorush did not accept a request or did not respond. If several requests fail together, only the first counts.
    mutating func failed() {
        carefulBatch = max(1, maximumBatch / 10)
        guard staleCount == 0 else { return staleCount -= 1 }
        staleCount = window
        window = max(min(Self.minimumWindow, maximumWindow), window / 2)
        (responseCount, wasFull) = (0, false)
    }

    /// Records the maximum number of notifications that gorush accepts in a request.
    mutating func limitBatch(to count: Int) { maximumBatch = min(maximumBatch, count) }

    /// Replaces earlier limits after gorush's configuration was read.
    mutating func resetBatch(to count: Int) { maximumBatch = count }

    /// The number of notifications in a request.
    ///
    /// - Parameter workers: How many of gorush's workers this route may use, or nil if gorush doesn't say.
    func batch(workers: Int?) -> Int { min(maximumBatch, carefulBatch, workers ?? .max) }

    /// How many more requests may be sent now.
    ///
    /// - Parameters:
    ///   - batch: The number of notifications in a request, or nil for a single push per request.
    ///   - profile: gorush's limits.
    func capacity(batch: Int?, profile: GorushProfile) -> Int {
        var maximum = min(maximumNotificationsInFlight, profile.queueShare)
        // gorush works on a batch while the next batch waits for it.
        if let workers = profile.workerShare { maximum = min(maximum, batch == nil ? workers : 2 * workers) }
        guard notificationsInFlight < maximum else { return 0 }
        let notifications = max(1, (maximum - notificationsInFlight) / (batch ?? 1))
        return min(max(0, window - requestsInFlight), notifications)
    }
}
