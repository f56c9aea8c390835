import Bytes
import Envelope
import PushProtocol
import Store
import Synchronization
import TestServers
import TestSupport
import Testing
import Wire

@testable import Delivery

/// A delivery with its real shell, database and connections, whose Apple or Google is a function of time.
final class ShellSimulation: Sendable {
    struct Attempt {
        var device: Int
        /// The time since all devices were proven.
        var time: Duration
        var isDelivered: Bool
    }

    private struct History {
        var attempts: [Attempt] = []
        /// When each issue and each warning was told first.
        var issues: [(time: Duration, text: String)] = []
        var warnings: [(time: Duration, text: String)] = []
        var pushCount: Int64 = 0
        var random = SplitMix64(seed: 71)
    }

    let running: Running
    private let isApple: Bool
    private let stub: StubGorush
    private let lines: LogLines
    private let origin: Duration
    private let devices: [String: Int]
    private let history = Mutex(History())

    /// Runs a simulation.
    ///
    /// - Parameters:
    ///   - devices: How many are registered.
    ///   - proven: Those that got a push before.
    static func with(
        _ platform: TokenType, devices: Int, proven: Range<Int>, _ body: @escaping @Sendable (ShellSimulation) async throws -> Void
    ) async throws {
        try await withStubGorush { stub in
            let (world, lines) = (try World(), LogLines())
            try await world.withDelivery(to: await stub.url, logger: lines.logger) { running in
                let simulation = ShellSimulation(platform, devices: devices, on: running, stub, lines)
                try await simulation.register(devices)
                for device in proven { try await simulation.accept([device]) }
                try await running.pass { try await running.isAllDone() }
                // No device was proven at the moment of a refusal.
                world.advance(by: .seconds(60))
                try await running.settle()
                try await body(ShellSimulation(platform, devices: devices, on: running, stub, lines))
                #expect(try await running.audit().balances)
            }
        }
    }

    private init(_ platform: TokenType, devices: Int, on running: Running, _ stub: StubGorush, _ lines: LogLines) {
        self.running = running
        isApple = platform == .apn
        self.stub = stub
        self.lines = lines
        origin = running.world.clock.now.offset
        let isApple = isApple
        self.devices = Dictionary(
            uniqueKeysWithValues: (0..<devices).map { (isApple ? iosToken($0) : androidToken($0), $0) })
    }

    private func push(to device: Int) -> AcceptedPush { isApple ? iosPush(device) : androidPush(device) }

    private func register(_ count: Int) async throws {
        let pushes = (0..<count).map(push)
        try await running.store.apply(at: World.start.advanced(by: .seconds(-10))) { batch in
            for push in pushes { batch.register(registration(of: push), topics: QueryTopics(plain: 1, prefixed: 2)) }
        }
    }

    private func accept(_ devices: [Int]) async throws {
        for device in devices where !unregistered.contains(device) {
            let message = history.withLock { history in
                history.pushCount += 1
                return history.pushCount
            }
            try await running.accept([push(to: device)], message: message)
        }
    }

    var now: Duration { running.world.clock.now.offset - origin }

    /// Runs until a time.
    ///
    /// - Parameters:
    ///   - arrivals: The devices that a push is accepted for, by time.
    ///   - step: The least step of the clock: days pass faster, and attempts that fall into a step are late.
    ///   - respond: The words of Apple or Google about a push to a device at a time; nil for a delivery.
    func run(
        until end: Duration, arrivals: [(time: Duration, device: Int)] = [], step: Duration = .zero,
        respond: @escaping @Sendable (_ device: Int, _ now: Duration, _ random: inout SplitMix64) -> String?
    ) async throws {
        stub.judge { [self] token in
            guard let device = devices[token] else { return "no such device" }
            let time = now
            return history.withLock { history in
                let words = respond(device, time, &history.random)
                history.attempts.append(Attempt(device: device, time: time, isDelivered: words == nil))
                return words
            }
        }
        var arrivals = arrivals.sorted { $0.time < $1.time }[...]
        while now < end {
            let due = arrivals.prefix { $0.time <= now }
            arrivals = arrivals.dropFirst(due.count)
            try await accept(due.map(\.device))
            let idle = try await running.settle()
            observe()
            let next = min(now + max(idle, step), arrivals.first?.time ?? end, end)
            running.world.advance(by: max(next - now, .milliseconds(1)))
        }
        try await running.settle()
        observe()
    }

    private func observe() {
        let (time, issues, warnings) = (now, running.loop.healthIssues, running.loop.warnings)
        history.withLock { history in
            for issue in issues where !history.issues.contains(where: { $0.text == issue }) { history.issues.append((time, issue)) }
            for warning in warnings where !history.warnings.contains(where: { $0.text == warning }) {
                history.warnings.append((time, warning))
            }
        }
    }

    // MARK: Results

    var attempts: [Attempt] { history.withLock(\.attempts) }
    var issues: [(time: Duration, text: String)] { history.withLock(\.issues) }
    var warnings: [(time: Duration, text: String)] { history.withLock(\.warnings) }
    var pushCount: Int { history.withLock { Int($0.pushCount) } }
    var unregistered: Set<Int> { Set(running.world.unregistered.all.map { Int($0.registration) - 1 }) }

    func deliveries(to device: Int) -> Int { attempts.count { $0.device == device && $0.isDelivered } }

    func count(_ outcome: Milestone) async throws -> Int { Int(try await running.outcomes()[outcome] ?? 0) }

    /// The number of lines that begin with a message, for both routes.
    func lineCount(_ message: String) -> Int { lines.all.count { $0.contains(" \(message)") } }
}
