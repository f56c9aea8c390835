import Foundation
import Store
import TestSupport
import Testing

@testable import Delivery

/// Something that happens to a route, with what must hold.
struct Situation: Sendable, CustomTestStringConvertible {
    typealias Choice = @Sendable (_ device: String, _ kind: String) -> Bool

    var name: String
    var until: Double
    /// Whether it takes many seconds in a debug build.
    var isLong = false
    var workers = 32
    /// The pushes that have to arrive, by device and kind.
    var isHealthy: Choice = { _, _ in true }
    /// The devices that may be given up.
    var isDead: Choice = { _, _ in false }
    /// The 99th percentile of the healthy ones' delays, in seconds, unless `end` is set.
    var within = 1.0
    /// When the trouble ends. Everything healthy that was accepted before is delivered by then and `late` seconds.
    var end: Double?
    var late = 0.0
    /// The outcomes that pushes may have instead of a delivery.
    var losses: Set<Loss> = []
    /// When the route is said to fail, or nil for never.
    var told: Told = .never
    /// How often one push may ring.
    var rings = 1
    /// How many devices are given up, or nil for any number.
    var goneCount: Int?
    /// How many requests there may be.
    var maximumPostCount: Int?
    var setUp: @Sendable (inout RouteSimulation) -> Void

    enum Told: Sendable {
        case never, either
        case between(Double, Double)
    }

    enum Loss: Sendable {
        case expired, refused, neverWorked, missedCall
    }

    var testDescription: String { name }

    /// Runs it, and expects what must hold.
    func check() async throws {
        var route = RouteSimulation(workers: workers)
        setUp(&route)
        try await route.run(until: until)
        let ends = await route.store.ends
        let open = await route.store.openIDs()
        let healthy = route.pushes.filter { isHealthy($0.value.device, $0.value.kind) }
        #expect(route.gone.filter { !isDead($0, "ok") } == [], "innocent devices are given up")
        #expect(healthy.keys.count { open.contains($0) && !isDead(route.pushes[$0]?.device ?? "", "ok") } == 0, "healthy pushes wait")
        let lost = Set(
            ends.compactMap { id, end -> Loss? in
                guard end.outcome != .sent else { return nil }
                if route.pushes[id]?.kind == "call" { return .missedCall }
                switch end.outcome {
                case .expired: return end.reason == .lifetime ? .expired : .neverWorked
                case .refused: return .refused
                default: return nil
                }
            })
        #expect(lost.isSubset(of: losses), "lost: \(lost)")
        let delays = healthy.values.compactMap { $0.delay.map { $0 / .seconds(1) } }.sorted()
        if let end {
            let last =
                healthy.values.filter { $0.acceptedAt < .seconds(end) }.compactMap { $0.deliveredAt.map { $0 / .seconds(1) } }.max() ?? 0
            #expect(last <= end + late, "the last one arrived \(last - end) s after the end")
        } else if !delays.isEmpty {
            let slow = delays[Int(Double(delays.count) * 0.99)]
            #expect(slow <= within, "99 % within \(slow) s, at most \(delays.last ?? 0) s")
        }
        let toldAt = route.toldAt.map { $0 / .seconds(1) }
        switch told {
        case .never: #expect(toldAt == nil)
        case .between(let first, let last): #expect(toldAt.map { first <= $0 && $0 <= last } ?? false, "told at \(toldAt ?? -1)")
        case .either: break
        }
        #expect(route.pushes.values.allSatisfy { $0.rings <= rings }, "\(route.pushes.values.map(\.rings).max() ?? 0) times")
        #expect(route.missedCount == 0, "a reading found devices that nobody looked at")
        if let goneCount { #expect(route.gone.count == goneCount) }
        if let maximumPostCount { #expect(route.postCount <= maximumPostCount) }
    }
}

// MARK: Words of situations

let worked = -86_400.0
let phones = (0..<300).map { "p\($0)" }
let tokens = (0..<10_000).map { "t\($0)" }
let fine: (RouteSimulation.Answer, Double) = (.delivered, 0.06)

extension RouteSimulation {
    /// Pushes at random times.
    ///
    /// - Parameter rate: The number in a second.
    mutating func traffic(
        to devices: [String], _ rate: Double, from begin: Double = 0, until end: Double, provenAt: Double? = worked, kind: String = "ok",
        hasKnownBundleID: Bool = true
    ) {
        var time = begin
        while true {
            time -= log(Double.random(in: Double.leastNonzeroMagnitude..<1, using: &random)) / rate
            guard time < end, let device = devices.randomElement(using: &random) else { return }
            push(device, at: time, kind: kind, provenAt: provenAt, hasKnownBundleID: hasKnownBundleID)
        }
    }
}

typealias SetUp = @Sendable (inout RouteSimulation) -> Void

/// Traffic to devices, and what happens to it.
func everybody(_ devices: [String], _ rate: Double, _ until: Double, _ provider: @escaping RouteSimulation.Provider) -> SetUp {
    return { route in
        route.provider = provider
        route.traffic(to: devices, rate, until: until)
    }
}

func wrong(_ begin: Double, _ end: Double, _ answer: RouteSimulation.Answer, _ seconds: Double) -> RouteSimulation.Provider {
    { now, _, _, _ in begin <= now && now < end ? (answer, seconds) : fine }
}

func refused(_ dead: String...) -> RouteSimulation.Provider { { _, device, _, _ in dead.contains(device) ? (.device, 0.1) : fine } }

func number(_ device: String) -> Int { Int(device.dropFirst()) ?? 0 }
func isOdd(_ device: String) -> Bool { device.first == "p" && number(device) % 2 == 1 }

func odd(_ answer: RouteSimulation.Answer, _ seconds: Double, until end: Double) -> RouteSimulation.Provider {
    { now, device, _, _ in now < end && isOdd(device) ? (answer, seconds) : fine }
}

func chance(_ share: Double, _ random: inout SplitMix64) -> Bool { Double.random(in: 0..<1, using: &random) < share }
