import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Testing
import Wire

struct ChangeOrderTests {
    private static let (one, two) = (Digest32(repeating: 1), Digest32(repeating: 2))
    private static let now = Timestamp(nanoseconds: 1)
    private static let suspicion = Suspicion(
        since: now, refusedAt: now, refusalCount: 1, countedCount: 0, firstCountedAt: nil, isProven: false)

    /// The steps in words: the digests' first bytes of what they concern.
    private func steps(_ changes: [OutboxUpdate.TokenChange]) -> [String] {
        var update = OutboxUpdate()
        update.tokens = changes
        return ChangeOrder(update).tokens.map { step in
            switch step {
            case .clearSuspicions(let cleared): "clear \(cleared.map { $0.bytes[0] })"
            case .suspect(let token, _, _): "suspect \(token.bytes[0])"
            case .deliveredToken(let token): "delivered \(token.bytes[0])"
            case .unregister: "unregister"
            case .expirePushes: "expire"
            case .delivered(let targets): "delivered to \(targets.map(\.row))"
            }
        }
    }

    @Test func `suspicions are cleared together, and before the next one`() {
        let changes: [OutboxUpdate.TokenChange] = [
            .clearSuspicion(Self.one), .deliveredToken(Self.two), .clearSuspicion(Self.two),
            .suspect(Self.one, Self.suspicion, route: "ios"), .clearSuspicion(Self.one),
        ]
        #expect(steps(changes) == ["delivered 2", "clear [1, 2]", "suspect 1", "clear [1]"])
    }

    @Test func `deliveries to registrations come last, together`() {
        let (first, second) = (TargetRegistration(row: 1, version: 1), TargetRegistration(row: 2, version: 1))
        let changes: [OutboxUpdate.TokenChange] = [
            .delivered(first), .clearSuspicion(Self.one), .delivered(second),
        ]
        #expect(steps(changes) == ["clear [1]", "delivered to [1, 2]"])
        #expect(steps([]) == [])
    }

    @Test func `a dead token of Apple's is unregistered in each spelling`() {
        let dead = DeadToken(
            token: DeviceToken("aB"), type: .apn, apnTopic: "app", attemptedAt: Self.now, reason: .unregistered, route: "ios")
        #expect(steps([.unregister(dead)]) == Array(repeating: "unregister", count: 3))
    }

    @Test func `changes of pushes are grouped by kind`() {
        var update = OutboxUpdate()
        update.pushes = [
            .init(id: 2, .retry(at: Self.now, isUnknown: true)), .init(id: 3, .finish(.sent)),
            .init(id: 4, .retry(at: Self.now, isUnknown: false)), .init(id: 5, .release(.queued)),
            .init(id: 6, .release(.unknown, until: Self.now)),
        ]
        let changes = ChangeOrder(update)
        #expect(changes.outcomes.map(\.push.id) == [3] && changes.releases.map(\.push) == [5, 6])
        #expect(changes.retries.map(\.push.id) == [2, 4] && changes.retries.map(\.state) == [.unknown, .queued])
        #expect(changes.releases.map(\.state) == [.queued, .unknown] && changes.releases.map(\.next) == [.now, .time(Self.now)])
        #expect(changes.refusals.isEmpty)
    }
}
