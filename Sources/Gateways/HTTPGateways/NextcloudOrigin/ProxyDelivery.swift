package import Envelope
package import HTTPClient
package import Logging
import ServiceLifecycle
package import Store
import Synchronization
import Tasks

/// Posts waiting pushes to their proxies, with a single request at a time to each (GATEWAY_PROTOCOLS.md §4.6). Unlike Nextcloud's own
/// server, it keeps pushes while a proxy is unreachable.
package final class ProxyDelivery: Service {
    /// The maximum number of pushes in a request: 600 KB.
    private static let batchCount = 500
    package static let defaultTimeout = Duration.seconds(30)
    /// If a whole batch is unknown, the response takes 50 KB.
    private static let maximumResponseByteCount = 1 << 20
    private static let backOff = BackOff(first: .seconds(2), longest: .seconds(60))
    /// The time for which a proxy's 429 is shown.
    package static let warningTime = Duration.seconds(3_600)

    private static let queueFailure = "the queue of the Nextcloud origin cannot be used"

    private let store: any OriginStore
    private let http: HTTPClient
    private let allowsLocalProxies: Bool
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let failures: FailureLog
    private let timeout: Duration
    private let schedule = Monitor(ProxySchedule())
    private let metrics = OriginMetrics()
    private let limitedAt = Mutex<[String: Timestamp]>([:])

    /// - Parameter timeout: How long a request may take.
    package init(
        store: any OriginStore, http: HTTPClient, allowsLocalProxies: Bool, timeout: Duration = defaultTimeout,
        clock: any Clock<Duration>, wallClock: WallClock, logger: Logger
    ) {
        self.store = store
        self.http = http
        self.allowsLocalProxies = allowsLocalProxies
        self.timeout = timeout
        self.clock = clock
        self.wallClock = wallClock
        failures = FailureLog(logger, clock: clock)
    }

    /// Tells that pushes wait.
    package func wake(_ waiting: [WaitingProxy]) {
        schedule.update { $0.add(waiting) }
    }

    /// The warning about proxies that limit this origin, or nil if none does. Devices choose their proxies, so it names three at most.
    package var warning: String? {
        let now = wallClock.now()
        let limited = limitedAt.withLock { limited in
            limited = limited.filter { $0.value.ifPast(at: now).map { $0.advanced(by: Self.warningTime) > now } ?? false }
            return limited.keys
        }
        guard !limited.isEmpty else { return nil }
        let examples = limited.sorted().prefix(3).joined(separator: ", ")
        let others = limited.count > 3 ? " and \(limited.count - 3) others" : ""
        return "push proxies respond with 429, and pushes to their devices are lost: \(examples)\(others)"
    }

    package func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.loadWaitingProxies() }
                while let proxy = await self.schedule.wait(for: { $0.start() }) {
                    group.addTask { await self.serve(proxy) }
                }
            }
        }
    }

    /// Finds the pushes that waited at the last stop.
    private func loadWaitingProxies() async {
        var failureCount = 0
        while !Task.isCancelled {
            do {
                return wake(try await store.waitingProxies())
            } catch {
                failures.report(Self.queueFailure, error)
                failureCount += 1
                await rest(afterFailures: failureCount)
            }
        }
    }

    private func rest(afterFailures failureCount: Int) async {
        try? await clock.sleep(for: Self.backOff.delay(afterFailures: failureCount, jitter: .random(in: 0...1)))
    }

    // MARK: Requests

    private enum Failure: Error {
        case unreachable
        case timedOut
    }

    /// Posts a batch to a proxy, and then lets it rest if that failed. The batch is posted again if its outcome could not be recorded.
    private func serve(_ proxy: String) async {
        let outcome: ProxySchedule.Outcome
        do {
            outcome = .responded(isMoreWaiting: try await postBatch(to: proxy))
        } catch Failure.timedOut {
            outcome = .timedOut
        } catch Failure.unreachable {
            outcome = .failed
        } catch {
            if !Task.isCancelled { failures.report(Self.queueFailure, error) }
            outcome = .failed
        }
        guard let failureCount = schedule.update({ $0.finish(proxy, outcome) }) else { return }
        await rest(afterFailures: failureCount)
        schedule.update { $0.endRest(of: proxy) }
    }

    /// - Returns: Whether more pushes may wait for the proxy.
    private func postBatch(to proxy: String) async throws -> Bool {
        let waiting = try await store.waitingOriginPushes(to: proxy, limit: Self.batchCount)
        if waiting.isEmpty { return false }
        let reading = wallClock.read()
        let live = waiting.filter { reading.age(since: $0.push.expiresAt, lifetime: .zero) == .young }
        // Those whose age is in doubt keep their places. The proxy is looked at again after its rest.
        if live.isEmpty, reading.isHeld { throw Failure.unreachable }
        let unknown = live.isEmpty ? [] : try await post(live, to: proxy)
        try await store.finishOriginPushes(reading.isHeld ? live : waiting, unknown: unknown)
        if !reading.isHeld { metrics.count(.expired, waiting.count - live.count) }
        return waiting.count == Self.batchCount || reading.isHeld && live.count < waiting.count
    }

    /// - Returns: The identifiers of devices that the proxy does not know.
    private func post(_ pushes: [WaitingOriginPush], to proxy: String) async throws(Failure) -> Set<String> {
        var request = HTTPRequest(
            method: .post, url: proxy + "/notifications", headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Self.body(pushes), timeout: timeout, maximumResponseBodyByteCount: Self.maximumResponseByteCount)
        request.onlyPublicAddresses = !allowsLocalProxies
        let response: HTTPResponse?
        do {
            response = try await http.send(request)
        } catch {
            if error.kind == .timedOut {
                failures.report("push proxies timed out; their pushes wait", level: .notice, example: ["proxy": "\(proxy)"])
                throw .timedOut
            }
            response = nil
        }
        switch ProxyResponse(response) {
        case .taken(let unknown):
            metrics.count(.accepted, pushes.count)
            return unknown
        case .refused(let status):
            failures.report("push proxies reject pushes", status: status, level: .warning, example: ["proxy": "\(proxy)"])
            if status == 429 { limitedAt.withLock { $0[proxy] = wallClock.now() } }
            metrics.count(.rejected, pushes.count)
            return []
        case .away:
            failures.report("push proxies are unavailable; their pushes wait", level: .notice, example: ["proxy": "\(proxy)"])
            throw .unreachable
        }
    }

    /// Returns the form of PHP's `http_build_query`.
    private static func body(_ pushes: [WaitingOriginPush]) -> [UInt8] {
        Array(
            pushes.enumerated().map { index, push in "notifications%5B\(index)%5D=" + FormFields.encode(push.entry) }
                .joined(separator: "&").utf8)
    }
}
