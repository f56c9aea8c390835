import CoreMetrics
import Envelope
import StatusCrypto
import Synchronization
import Transport

/// Says each reply again, twice, in a fresh envelope.
///
/// Clients were seen to subscribe to their own topic up to 2.5 s after they asked (RELIABILITY.md, "What operators ask for"). The same
/// bytes would be dropped by the network's dedupe, so each echo is sealed anew. It is a courtesy: nothing of it survives a shutdown,
/// a failure to publish is not repeated, and what does not fit the bound is not echoed.
final class EchoStage: Sendable {
    private let sealer: ReplySealer
    private let transport: any MessageTransport
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let metrics: EngineMetrics
    private let wheel = Mutex(EchoWheel<PendingReply>())

    init(
        identity: PrivateKey, transport: any MessageTransport, clock: any Clock<Duration>, wallClock: WallClock, metrics: EngineMetrics
    ) {
        sealer = ReplySealer(identity: identity)
        self.transport = transport
        self.clock = clock
        self.wallClock = wallClock
        self.metrics = metrics
    }

    /// The reply has just been published.
    func add(_ reply: PendingReply) {
        let isTaken = wheel.withLock { $0.add(reply, byteCount: reply.payload.count) }
        if !isTaken { metrics.echoesDropped.increment() }
    }

    /// Runs until cancelled.
    @concurrent
    func run() async {
        var random = SecureRandom()
        while (try? await clock.sleep(for: EchoWheel<PendingReply>.tick)) != nil {
            for reply in wheel.withLock({ $0.advance() }) {
                guard let envelopes = try? sealer.seal(reply, at: wallClock.now(), using: &random) else { continue }
                for envelope in envelopes where (try? await transport.publish(envelope)) != nil {
                    metrics.echoesPublished.increment()
                }
            }
        }
    }
}

/// What is due at which tick: a ring of buckets, for the delays are always the same two.
struct EchoWheel<Element> {
    static var tick: Duration { .milliseconds(250) }
    /// 1.5 s and 4 s.
    static var delays: [Int] { [6, 16] }
    /// Room for some seconds of replies at full load; long ones are rare.
    static var maximumByteCount: Int { 32 << 20 }
    /// What an element costs beside its bytes.
    private static var overheadByteCount: Int { 256 }

    private var buckets: [[(element: Element, byteCount: Int)]] = Array(repeating: [], count: 17)
    private var now = 0
    private(set) var byteCount = 0

    /// - Returns: false when there is no room.
    mutating func add(_ element: Element, byteCount: Int) -> Bool {
        let byteCount = byteCount + Self.overheadByteCount
        guard self.byteCount + byteCount * Self.delays.count <= Self.maximumByteCount else { return false }
        for delay in Self.delays {
            buckets[(now + delay) % buckets.count].append((element, byteCount))
            self.byteCount += byteCount
        }
        return true
    }

    /// One tick later: what is due now.
    mutating func advance() -> [Element] {
        now = (now + 1) % buckets.count
        let due = buckets[now]
        buckets[now] = []
        for element in due { byteCount -= element.byteCount }
        return due.map(\.element)
    }
}
