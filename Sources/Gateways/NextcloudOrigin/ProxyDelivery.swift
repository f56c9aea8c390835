import Concurrency
import CoreMetrics
package import Envelope
import GatewayHTTP
package import HTTPClient
package import Logging
import ServiceLifecycle
package import Store
import Synchronization

/// Posts the pushes that wait to their proxies, one request at a time to each. Unlike Nextcloud's own server it loses nothing while a proxy
/// is away (GATEWAY_PROTOCOLS.md §4.6).
package final class ProxyDelivery: Service {
    /// 600 KB a request.
    private static let batchCount = 500
    /// Requests under way: clients name the proxies.
    private static let maximumRequestCount = 32
    private static let timeout = Duration.seconds(30)
    /// All of a batch unknown is 50 KB.
    private static let maximumAnswerByteCount = 1 << 20
    private static let backOff = BackOff(first: .seconds(2), longest: .seconds(60))
    /// How long it is shown that a proxy has sent us away.
    package static let warningTime = Duration.seconds(3_600)

    /// Each proxy for which something waits has a task that posts it.
    private struct Lanes {
        var wanted: Set<String> = []
        var running: Set<String> = []

        mutating func start() -> String? {
            guard let proxy = wanted.first(where: { !running.contains($0) }) else { return nil }
            wanted.remove(proxy)
            running.insert(proxy)
            return proxy
        }
    }

    private let store: any OriginStore
    private let http: HTTPClient
    private let allowsLocalProxies: Bool
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    private let lanes = Monitor(Lanes())
    private let requests = ConcurrencyLimiter(limit: maximumRequestCount)
    private let limitedAt = Mutex<[String: Timestamp]>([:])

    package init(
        store: any OriginStore, http: HTTPClient, allowsLocalProxies: Bool, clock: any Clock<Duration>, wallClock: WallClock, logger: Logger
    ) {
        self.store = store
        self.http = http
        self.allowsLocalProxies = allowsLocalProxies
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
    }

    /// Something waits for these proxies.
    package func wake(_ proxies: Set<String>) {
        lanes.update { $0.wanted.formUnion(proxies) }
    }

    /// What an operator should know.
    package var warnings: [String] {
        let now = wallClock.now()
        return limitedAt.withLock { limited in
            limited = limited.filter { $0.value.advanced(by: Self.warningTime) > now }
            return limited.keys.sorted().map { "the push proxy \($0) answers 429: pushes to its devices are lost" }
        }
    }

    package func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.retrying { self.wake(try await self.store.originProxies()) } }
                while let proxy = await self.lanes.wait(for: { $0.start() }) {
                    group.addTask {
                        await self.retrying { try await self.postAll(to: proxy) }
                        self.lanes.update { _ = $0.running.remove(proxy) }
                    }
                }
            }
        }
    }

    // MARK: One proxy

    private struct IsAway: Error {}

    /// Runs `body` until it succeeds, or the task is cancelled.
    private func retrying(_ body: () async throws -> Void) async {
        var failureCount = 0
        while !Task.isCancelled {
            do {
                return try await body()
            } catch is IsAway {
            } catch is CancellationError {
                return
            } catch {
                logger.error("the queue of the Nextcloud origin cannot be used", metadata: ["error": "\(error)"])
            }
            failureCount += 1
            try? await clock.sleep(for: Self.backOff.delay(afterFailures: failureCount, jitter: .random(in: 0...1)))
        }
    }

    /// - Throws: `IsAway`, or what the store throws; what was posted and not settled is posted again.
    private func postAll(to proxy: String) async throws {
        while try await postBatch(to: proxy) {}
    }

    /// - Returns: false: nothing waits.
    private func postBatch(to proxy: String) async throws -> Bool {
        try await requests.acquire()
        defer { requests.release() }
        let waiting = try await store.waitingOriginPushes(to: proxy, limit: Self.batchCount)
        if waiting.isEmpty { return false }
        let now = wallClock.now()
        let live = waiting.filter { $0.push.expiresAt > now }
        let unknown = live.isEmpty ? [] : try await post(live, to: proxy)
        try await store.settleOriginPushes(waiting, unknown: unknown)
        Self.count("expired", waiting.count - live.count)
        return true
    }

    /// - Returns: devices that the proxy does not know.
    private func post(_ pushes: [WaitingOriginPush], to proxy: String) async throws(IsAway) -> Set<String> {
        var request = HTTPRequest(
            method: .post, url: proxy + "/notifications", headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Self.body(pushes), timeout: Self.timeout, maximumResponseBodyByteCount: Self.maximumAnswerByteCount)
        request.onlyPublicAddresses = !allowsLocalProxies
        switch ProxyAnswer(try? await http.send(request)) {
        case .taken(let unknown):
            Self.count("taken", pushes.count)
            return unknown
        case .refused(let status):
            logger.warning("a push proxy refuses pushes", metadata: ["proxy": "\(proxy)", "status": "\(status)"])
            if status == 429 { limitedAt.withLock { $0[proxy] = wallClock.now() } }
            Self.count("refused", pushes.count)
            return []
        case .away:
            logger.notice("a push proxy does not answer; pushes wait", metadata: ["proxy": "\(proxy)"])
            throw IsAway()
        }
    }

    /// As PHP's `http_build_query` writes it.
    private static func body(_ pushes: [WaitingOriginPush]) -> [UInt8] {
        Array(
            pushes.enumerated().map { index, push in "notifications%5B\(index)%5D=" + FormFields.encode(push.entry) }
                .joined(separator: "&").utf8)
    }

    static func count(_ outcome: String, _ amount: Int) {
        Counter(label: "pushserver_origin_pushes_total", dimensions: [("outcome", outcome)]).increment(by: amount)
    }
}
