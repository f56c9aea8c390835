import Foundation
import Store
import TestSupport
import Testing

@testable import Delivery

/// The four rules of DELIVERY.md together, in the cases for which they were made. No case may lose a push or unregister a live device.
@Suite(.safetyNet) struct RouteSimulationTests {
    private static let notFound = RouteSimulation.Response.words("Requested entity was not found.")
    private static let mismatch = RouteSimulation.Response.words("SenderId mismatch")
    private static let invalid = RouteSimulation.Response.words("Request contains an invalid argument.")

    @Test func `a single phone that is refused for a day stays registered, and its pushes wait`() async throws {
        var route = RouteSimulation(provenDevices: 0..<1, recentDevices: 1)
        try await route.run(until: hours(23), arrivals: pushes(to: 0..<1, every: hours(1), until: hours(23))) { _, _, _ in Self.notFound }
        route.report("one phone, dead")
        #expect(route.unregistered.isEmpty && route.count(nil) == 23)
        #expect(route.isReady && route.firstTold[.unwitnessed]?.time == .seconds(60) + .milliseconds(100))
        #expect(route.postCounts[0, default: 0] <= 23 * 6 + 12)
    }

    @Test("300 phones survive a fault of Google, whose end is noticed within 30 s", arguments: [6, 60, 660])
    func fault(seconds: Int) async throws {
        var route = RouteSimulation(provenDevices: 0..<300, recentDevices: 40)
        let (start, repair) = (Duration.seconds(100), Duration.seconds(100 + seconds))
        try await route.run(
            until: repair + minutes(20), arrivals: pushes(to: 0..<300, every: .milliseconds(250), until: repair + .seconds(60))
        ) { _, now, _ in start <= now && now < repair ? Self.mismatch : .delivered }
        route.report("Google wrong for \(seconds) s")
        #expect(route.unregistered.isEmpty && route.count(.sent) == route.pushes.count)
        #expect(route.slowestHealing(after: repair) <= .seconds(31))
        #expect((route.firstTold[.failing] != nil) == (seconds > 60))
        #expect(route.firstTold[.mixed] == nil)
    }

    @Test func `an hour of a wrong project costs no phone and no push`() async throws {
        var route = RouteSimulation(provenDevices: 0..<100, recentDevices: 40)
        let (start, repair) = (Duration.seconds(100), Duration.seconds(100) + hours(1))
        try await route.run(until: repair + minutes(5), arrivals: pushes(to: 0..<100, every: .seconds(5), until: repair)) { _, now, _ in
            start <= now && now < repair ? Self.mismatch : .delivered
        }
        route.report("wrong project for an hour")
        #expect(route.unregistered.isEmpty && route.count(.sent) == route.pushes.count)
        #expect(route.slowestHealing(after: repair) <= .seconds(31))
        #expect(try #require(route.firstTold[.failing]).time <= start + .seconds(100))
        // Each phone is tried once, and then one push at a time.
        #expect(route.attemptTimes.count { start + .seconds(120) <= $0.time && $0.time < repair } <= 100 + 3_600 / 15)
    }

    @Test func `phones of a new project do not testify against those of the old one`() async throws {
        let old = 0..<50
        var route = RouteSimulation(provenDevices: old, recentDevices: 40)
        // New phones register from the tenth second on, and get a push a minute.
        let arrivals =
            pushes(to: old, every: .seconds(20), until: hours(6))
            + pushes(to: 100..<200, from: .seconds(10), every: minutes(1), until: hours(6))
        try await route.run(until: hours(6), arrivals: arrivals) { device, _, _ in old.contains(device) ? Self.mismatch : .delivered }
        route.report("new project")
        #expect(route.unregistered.isEmpty && route.count(.expired) == 0)
        #expect(route.pushes.values.allSatisfy { old.contains($0.device) || $0.outcome == .sent })
        // One line, and a warning that stays.
        #expect(route.logLines.count { if case .notDelivered = $0.line { true } else { false } } <= 1)
        #expect(route.warnings.map(\.kind) == [.unwitnessed] || !route.conditions.isEmpty)
    }

    @Test func `invented tokens of an untrusted client are gone after 17 minutes of traffic, and delay nobody`() async throws {
        var route = RouteSimulation(provenDevices: 0..<100, recentDevices: 40)
        let invented = 1_000..<2_000
        let arrivals =
            pushes(to: 0..<100, every: .milliseconds(500), until: minutes(25))
            + pushes(to: invented, every: .milliseconds(50), until: .seconds(50))
        try await route.run(until: minutes(30), arrivals: arrivals) { device, _, _ in invented.contains(device) ? Self.notFound : .delivered
        }
        route.report("1,000 invented tokens")
        let honest = route.pushes.values.filter { $0.device < 100 }
        #expect(honest.allSatisfy { $0.delay.map { $0 < .seconds(2) } ?? false })
        #expect(route.pushes.values.allSatisfy { $0.outcome != nil })
        #expect(invented.allSatisfy { route.postCounts[$0, default: 0] <= OutcomeRules.maximumAttemptsOfUnproven })
        #expect(route.firstTold.isEmpty && route.unregistered.keys.allSatisfy(invented.contains))
        #expect(try #require(route.unregistered.values.max()) < minutes(19))
    }

    @Test func `three uninstalled phones of an untrusted client at night raise a warning and no alarm`() async throws {
        var route = RouteSimulation(provenDevices: 0..<23, recentDevices: 20)
        let night = pushes(to: 20..<23, every: .seconds(20), until: hours(8))
        try await route.run(until: hours(8), arrivals: night) { device, _, _ in device >= 20 ? Self.notFound : .delivered }
        route.report("three uninstalled phones at night")
        #expect(route.firstTold[.failing] == nil && route.firstTold[.unwitnessed] != nil && route.unregistered.isEmpty)
        // In the morning the others testify.
        var arrivals = pushes(to: 0..<20, from: hours(8), every: .seconds(20), until: hours(9))
        arrivals += pushes(to: 20..<23, from: hours(8), every: .seconds(20), until: hours(9))
        try await route.run(until: hours(9), arrivals: arrivals) { device, _, _ in device >= 20 ? Self.notFound : .delivered }
        route.report("the morning after")
        #expect(Set(route.unregistered.keys) == [20, 21, 22] && route.conditions.isEmpty)
    }

    @Test func `of five phones with a push an hour, the two uninstalled ones go, without an alarm`() async throws {
        var route = RouteSimulation(provenDevices: 0..<5, recentDevices: 5)
        let arrivals = (0..<5).flatMap { pushes(to: $0..<$0 + 1, from: minutes(12 * $0), every: hours(1), until: hours(20)) }
        try await route.run(until: hours(20), arrivals: arrivals) { device, _, _ in device >= 3 ? Self.notFound : .delivered }
        route.report("five phones, two uninstalled")
        #expect(route.firstTold[.failing] == nil && Set(route.unregistered.keys) == [3, 4])
        // A line for each time that one of them was not known to be gone.
        #expect(route.logLines.count <= 4, "\(route.logLines)")
        #expect(route.pushes.values.filter { $0.device < 3 }.allSatisfy { $0.delay.map { $0 < .seconds(2) } ?? false })
    }

    @Test func `with a push a day for each phone, the dead one goes and the others stay`() async throws {
        var route = RouteSimulation(provenDevices: 0..<4, recentDevices: 4)
        let arrivals = (0..<4).flatMap { pushes(to: $0..<$0 + 1, from: hours(5 * $0), every: hours(24), until: hours(120)) }
        try await route.run(until: hours(120), arrivals: arrivals) { device, _, _ in device == 3 ? Self.notFound : .delivered }
        route.report("a push a day")
        #expect(Set(route.unregistered.keys) == [3] && route.firstTold[.failing] == nil)
        #expect(route.pushes.values.filter { $0.device < 3 }.allSatisfy { $0.outcome == .sent })
    }

    @Test func `a single invalid push is refused after three refusals that count`() async throws {
        var route = RouteSimulation(provenDevices: 0..<10, recentDevices: 10)
        let arrivals = pushes(to: 0..<9, every: .seconds(1), until: minutes(2)) + [(time: .seconds(30), device: 9)]
        try await route.run(until: minutes(3), arrivals: arrivals) { device, _, _ in device == 9 ? Self.invalid : .delivered }
        route.report("one invalid push")
        #expect(route.count(.refused) == 1 && route.postCounts[9] == 4 && route.count(.sent) == route.pushes.count - 1)
        #expect(route.firstTold.isEmpty && route.unregistered.isEmpty)
    }

    @Test func `pushes that a wrong setting makes invalid wait for its correction`() async throws {
        var route = RouteSimulation(provenDevices: 0..<30, recentDevices: 30)
        let repair = hours(2)
        try await route.run(until: repair + minutes(5), arrivals: pushes(to: 0..<30, every: .seconds(30), until: repair)) { _, now, _ in
            now < repair ? Self.invalid : .delivered
        }
        route.report("all invalid by a setting")
        #expect(route.count(.refused) == 0 && route.count(.sent) == route.pushes.count)
        #expect(route.slowestHealing(after: repair) <= .seconds(31) && route.firstTold[.failing] != nil)
    }

    @Test("Two gorush with different projects behind one address unregister nobody", arguments: [50.0, 1.35])
    func balancer(percentage: Double) async throws {
        var route = RouteSimulation(provenDevices: 0..<40, recentDevices: 40)
        let end = hours(2)
        try await route.run(until: end + minutes(15), arrivals: pushes(to: 0..<40, every: .milliseconds(1_000), until: end)) {
            _, now, random in
            now < end && Double.random(in: 0..<100, using: &random) < percentage ? Self.mismatch : .delivered
        }
        route.report("balancer \(percentage) %")
        #expect(route.unregistered.isEmpty && route.count(.sent) == route.pushes.count && route.firstTold[.failing] == nil)
        if percentage == 50 {
            #expect(try #require(route.firstTold[.mixed]).time < minutes(3))
        } else {
            #expect(route.firstTold[.mixed] == nil)
        }
    }

    @Test func `a hanging Apple is told until a push is delivered`() async throws {
        var route = RouteSimulation(provenDevices: 0..<30, recentDevices: 30)
        let (start, repair) = (Duration.seconds(100), Duration.seconds(100) + minutes(30))
        try await route.run(until: repair + minutes(10), arrivals: pushes(to: 0..<30, every: .seconds(2), until: repair)) { _, now, _ in
            start <= now && now < repair ? .silence : .delivered
        }
        route.report("Apple hangs")
        #expect(route.count(.sent) == route.pushes.count && route.unregistered.isEmpty)
        let again = route.logLines.filter { $0.line == .deliveredAgain }
        #expect(again.count == 1 && again.allSatisfy { $0.time >= repair })
        #expect(route.logLines.contains { if case .notDelivered = $0.line { $0.time <= start + .seconds(61) } else { false } })
    }

    @Test func `thousands of pushes that waited go in rounds`() async throws {
        var route = RouteSimulation(provenDevices: 0..<50, recentDevices: 40)
        let repair = minutes(10)
        // One device has most of them, and another one gets its first push afterwards.
        var arrivals = pushes(to: 0..<1, every: .milliseconds(300), until: repair)
        arrivals += pushes(to: 1..<49, every: .seconds(5), until: repair) + [(time: repair + .seconds(31), device: 49)]
        try await route.run(until: repair + minutes(3), arrivals: arrivals) { _, now, _ in
            now < repair ? .words("The service is currently unavailable.") : .delivered
        }
        route.report("\(arrivals.count) waiting")
        #expect(route.count(.sent) == route.pushes.count && route.slowestHealing(after: repair) <= .seconds(60))
        let others = route.pushes.values.filter { $0.device != 0 && $0.acceptedAt < repair }.compactMap(\.endedAt)
        #expect(try #require(others.max()) <= repair + .seconds(33))
    }

    @Test("A quota is waited for, and is no fault of the route", arguments: ["TooManyRequests", "Quota exceeded for quota metric 'x'"])
    func quota(words: String) async throws {
        var route = RouteSimulation(provenDevices: 0..<5, recentDevices: 5)
        let arrivals = pushes(to: 0..<4, every: minutes(5), until: hours(1)) + [(time: .seconds(10), device: 4)]
        try await route.run(until: hours(2), arrivals: arrivals) { device, now, _ in
            device == 4 && now < minutes(50) ? .words(words) : .delivered
        }
        route.report("quota: \(words)")
        #expect(route.count(.sent) == route.pushes.count && route.postCounts[4, default: 0] <= 25)
        #expect(route.firstTold.isEmpty && route.unregistered.isEmpty)
    }
}
