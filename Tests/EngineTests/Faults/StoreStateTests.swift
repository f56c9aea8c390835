import Store
import Testing

@testable import Engine

/// The rules by which a store counts as away, in scenes whose clock is a number.
@Suite struct StoreStateTests {
    /// Messages at a store in the engine's rhythm: each failing message is tried every tenth of a second, and the probes follow the rules.
    private struct Scene {
        enum Write {
            case succeeds
            case fails(StoreError)
            case hangs
        }

        var state = StoreState()
        var now = Duration.zero
        /// The result of a write at a time.
        var store: (Duration) -> Write
        /// Whether the store fails on the message whenever it works.
        var isPoison = false
        var failures: StoreState.Failures?
        var isInMemory = true
        var replies: [(time: Duration, isRefusal: Bool)] = []
        private var nextProbe = Duration.zero

        init(isPoison: Bool = false, store: @escaping (Duration) -> Write) {
            (self.isPoison, self.store) = (isPoison, store)
        }

        mutating func run(for duration: Duration) {
            let end = now + duration
            while now < end {
                probe()
                message()
                now += .milliseconds(100)
            }
        }

        private mutating func probe() {
            _ = state.advance(to: now)
            if state.needsProbe, now >= nextProbe {
                let attempt = state.beginProbe(at: now)
                switch store(now) {
                case .succeeds: _ = state.succeeded(attempt)
                case .fails: _ = state.probeFailed()
                case .hangs: return
                }
                state.endProbe(attempt)
            }
            if !state.isAway { nextProbe = now } else if nextProbe <= now { nextProbe = now + StoreState.probeInterval }
        }

        private mutating func message() {
            guard replies.isEmpty else { return }
            if state.isAway {
                (isInMemory, failures) = (false, nil)
                return
            }
            isInMemory = true
            if let failures {
                switch state.verdict(on: failures, at: now) {
                case .refuse: return replies.append((now, true))
                case nil, .wait: return
                case .retry: break
                }
            }
            let attempt = state.begin(at: now)
            defer { state.end(attempt) }
            switch store(now) {
            case .succeeds where !isPoison:
                _ = state.succeeded(attempt)
                replies.append((now, false))
            case .fails(let error): failed(error)
            case .succeeds, .hangs: failed(.damaged)
            }
        }

        private mutating func failed(_ error: StoreError) {
            _ = state.failed(error)
            failures = state.failures(failures, triedAt: now)
        }
    }

    /// The errors that each concern every write.
    static let errors: [StoreError] =
        [.unavailable(code: 13, text: ""), .unavailable(code: 0, text: ""), .unreachable(""), .closed]

    @Test(arguments: errors)
    func `a message waits outside of memory while the store is away, however long, and gets its reply within a second after`(
        error: StoreError
    ) {
        for outage in [Duration.milliseconds(200), .seconds(3), .seconds(3_600), .seconds(25 * 3_600)] {
            var scene = Scene { $0 < outage ? .fails(error) : .succeeds }
            scene.run(for: outage)
            #expect(scene.replies.isEmpty && scene.state.isAway && !scene.isInMemory)
            scene.run(for: .milliseconds(1_200))
            #expect(scene.replies.map(\.isRefusal) == [false] && !scene.state.isAway)
        }
    }

    @Test func `a message and a probe that both fail for an unknown reason mean that the store is away`() {
        var scene = Scene { $0 < .seconds(10) ? .fails(.damaged) : .succeeds }
        scene.run(for: .seconds(10))
        #expect(scene.replies.isEmpty && scene.state.isAway)
        scene.run(for: .milliseconds(1_200))
        #expect(scene.replies.map(\.isRefusal) == [false])
    }

    @Test func `a message on which a working store fails is refused after two seconds, and the store never counts as away`() {
        var scene = Scene(isPoison: true) { _ in .succeeds }
        for _ in 1...19 {
            scene.run(for: .milliseconds(100))
            #expect(scene.replies.isEmpty && !scene.state.isAway)
        }
        scene.run(for: .milliseconds(300))
        #expect(scene.replies.map(\.isRefusal) == [true] && !scene.state.isAway)
        #expect(scene.replies.first.map { $0.time <= .milliseconds(2_100) } == true)
    }

    @Test func `a failing message waits while a probe hangs, and is refused only after one has succeeded`() {
        var scene = Scene(isPoison: true) { $0 < .seconds(60) ? .hangs : .succeeds }
        scene.run(for: .seconds(60))
        #expect(scene.replies.isEmpty && scene.state.isAway && !scene.isInMemory)
        // Its write returns in the end.
        scene.state.endProbe(0)
        scene.run(for: .seconds(2))
        #expect(scene.replies.isEmpty && !scene.state.isAway)
        scene.run(for: .seconds(2))
        #expect(scene.replies.map(\.isRefusal) == [true])
    }

    @Test func `a restart of a loaded database, whose errors change, refuses nothing`() {
        var scene = Scene { now in
            switch now {
            case ..<(.milliseconds(300)): .fails(.unreachable("terminating connection due to administrator command"))
            case ..<(.seconds(2)): .fails(.unreachable("no such file"))
            case ..<(.seconds(4)): .fails(.unavailable(code: 0, text: "PostgreSQL reports SQLSTATE 57P03"))
            case ..<(.milliseconds(4_300)): .fails(.damaged)
            default: .succeeds
            }
        }
        scene.run(for: .seconds(6))
        #expect(scene.replies.map(\.isRefusal) == [false])
    }

    @Test func `a write that began before the failure does not prove that the store is back`() {
        var state = StoreState()
        let (early, late) = (state.begin(at: .zero), state.begin(at: .zero))
        _ = state.failed(StoreError.unreachable(""))
        for attempt in [early, late] { _ = state.succeeded(attempt) }
        #expect(state.isAway)
        let next = state.begin(at: .seconds(1))
        let failureCount = state.succeeded(next)
        #expect(failureCount == 1 && !state.isAway)
    }

    @Test func `a message that failed before the store was away waits, however long`() {
        var state = StoreState()
        _ = state.failed(StoreError.damaged)
        let failures = state.failures(nil, triedAt: .zero)
        _ = state.failed(StoreError.unreachable(""))
        let verdicts = [Duration.zero, .seconds(2), .seconds(3_600)].map { state.verdict(on: failures, at: $0) }
        #expect(verdicts.allSatisfy { $0 == .wait })
    }

    @Test func `a row that another session holds says nothing about the store`() {
        var state = StoreState()
        _ = state.failed(StoreError.rowLocked(by: nil))
        #expect(!state.isAway && !state.needsProbe)
        _ = state.failed(StoreError.damaged)
        #expect(!state.isAway && state.needsProbe)
    }
}
