/// How many requests and notifications of a route may be in flight: additive increase and multiplicative decrease.
///
/// While requests fill the window, each round of responses makes it four wider. A request that gorush does not take halves it.
struct Concurrency: Sendable {
    /// 32 requests: what a gorush with its usual workers takes, and enough for 500 pushes a second at 60 ms.
    static let initialWindow = 32
    /// 4 requests. Fewer leave gorush idle between a request and the next.
    static let minimumWindow = 4
    /// How much wider a round of responses makes the window.
    static let increment = 4

    private let maximumWindow: Int
    private let maximumNotificationsInFlight: Int
    /// The maximum number of notifications in a request.
    private(set) var maximumBatch: Int
    /// The number of requests that may be in flight.
    private(set) var window: Int
    private(set) var requestsInFlight = 0
    private(set) var notificationsInFlight = 0
    /// Smaller for a while after a failure: an attempt without a response may be delivered twice.
    private var carefulBatch = Int.max
    /// The number of responses since the window was changed.
    private var responseCount = 0
    private var wasFull = false
    /// The number of responses still to come to requests from before the window was halved. They say nothing new.
    private var staleCount = 0

    init(configuration: DeliveryConfiguration) {
        maximumWindow = configuration.maximumRequestsInFlight
        maximumNotificationsInFlight = configuration.maximumNotificationsInFlight
        maximumBatch = configuration.maximumNotificationsPerRequest
        window = min(Self.initialWindow, maximumWindow)
    }

    /// Requests go out, with these numbers of notifications.
    mutating func posted(_ batches: [Int]) {
        requestsInFlight += batches.count
        notificationsInFlight += batches.reduce(0, +)
        if requestsInFlight >= window { wasFull = true }
    }

    /// A request with that number of notifications is over.
    mutating func ended(_ notificationCount: Int) {
        requestsInFlight -= 1
        notificationsInFlight -= notificationCount
    }

    /// gorush took a request.
    mutating func succeeded() {
        carefulBatch = 2 * min(carefulBatch, .max / 2)
        guard staleCount == 0 else { return staleCount -= 1 }
        responseCount += 1
        guard responseCount >= window else { return }
        // Where fewer requests are wanted than may be in flight, a wider window would prove nothing.
        if wasFull { window = min(maximumWindow, window + Self.increment) }
        (responseCount, wasFull) = (0, false)
    }

    /// gorush did not take a request, or did not respond. Of many that fail together one counts.
    mutating func failed() {
        carefulBatch = max(1, maximumBatch / 10)
        guard staleCount == 0 else { return staleCount -= 1 }
        staleCount = window
        window = max(min(Self.minimumWindow, maximumWindow), window / 2)
        (responseCount, wasFull) = (0, false)
    }

    /// gorush takes at most that number of notifications in a request.
    mutating func limitBatch(to count: Int) { maximumBatch = min(maximumBatch, count) }

    /// gorush's configuration was read: an earlier limit may be gone.
    mutating func resetBatch(to count: Int) { maximumBatch = count }

    /// The number of notifications in a request.
    ///
    /// - Parameter workers: The workers of gorush that this route may use; nil if gorush does not say.
    func batch(workers: Int?) -> Int { min(maximumBatch, carefulBatch, workers ?? .max) }

    /// The number of requests that may go out now.
    ///
    /// - Parameters:
    ///   - batch: The number of notifications in a request, or nil for one push a request.
    ///   - profile: What limits the notifications in gorush.
    func capacity(batch: Int?, profile: GorushProfile) -> Int {
        var maximum = min(maximumNotificationsInFlight, profile.queueShare)
        // gorush works on one batch while the next one waits for it.
        if let workers = profile.workerShare { maximum = min(maximum, batch == nil ? workers : 2 * workers) }
        guard notificationsInFlight < maximum else { return 0 }
        let notifications = max(1, (maximum - notificationsInFlight) / (batch ?? 1))
        return min(max(0, window - requestsInFlight), notifications)
    }
}
