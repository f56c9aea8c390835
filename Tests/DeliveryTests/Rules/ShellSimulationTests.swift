import PushProtocol
import Store
import TestSupport
import Testing
import Wire

@testable import Delivery

/// The cases of `RouteSimulationTests` through shell, database and connections, with a stand-in for gorush and fewer devices.
@Suite(.fewAtATime) struct ShellSimulationTests {
    private static let notFound = "Requested entity was not found."
    private static let mismatch = "SenderId mismatch"
    private static let invalid = "Request contains an invalid argument."

    @Test func `a single phone with a dead token stays registered for hours, with a warning and no alarm`() async throws {
        try await ShellSimulation.with(.apn, devices: 1, proven: 0..<1) { shell in
            try await shell.run(until: hours(6), arrivals: pushes(to: 0..<1, every: hours(1), until: hours(6)), step: minutes(1)) {
                _, _, _ in
                "BadDeviceToken"
            }
            #expect(shell.unregistered.isEmpty && shell.issues.isEmpty && shell.deliveries(to: 0) == 0)
            #expect(try await shell.running.store.queuedPushCount() == 6)
            #expect(shell.warnings.contains { $0.time < minutes(3) && $0.text.contains("BadDeviceToken") })
            #expect(shell.attempts.count <= 12 + 6 * 6)
            // For `pushctl trace`.
            #expect(try await shell.running.store.tracePushes(to: iosPush(0).target).contains { $0.words == "BadDeviceToken" })
        }
    }

    @Test("A fault of Google heals within 31 s, without a lost push or phone", arguments: [6, 60, 660])
    func fault(seconds: Int) async throws {
        try await ShellSimulation.with(.firebase, devices: 30, proven: 0..<30) { shell in
            let (start, repair) = (Duration.seconds(20), Duration.seconds(20 + seconds))
            let arrivals = pushes(to: 0..<30, every: .seconds(2), until: repair + .seconds(20))
            try await shell.run(until: repair + .seconds(31), arrivals: arrivals) { _, now, _ in
                start <= now && now < repair ? Self.mismatch : nil
            }
            // A minute is the moment at which it becomes an issue.
            let hadIssue = !shell.issues.isEmpty
            #expect(shell.unregistered.isEmpty && (seconds == 60 || hadIssue == (seconds > 60)), "\(shell.issues)")
            #expect(try await shell.count(.sent) == 30 + arrivals.count)
            #expect(shell.running.loop.healthIssues == [])
            // An issue of less than a step is in the log only.
            let issueCount = shell.lineCount("pushes are not delivered")
            #expect(issueCount == shell.lineCount("pushes are delivered again") && issueCount <= 1 && (issueCount == 1 || !hadIssue))
        }
    }

    @Test func `a wrong environment for an hour costs no phone and no push`() async throws {
        try await ShellSimulation.with(.apn, devices: 20, proven: 0..<20) { shell in
            let (start, repair) = (Duration.seconds(20), Duration.seconds(20) + hours(1))
            let arrivals = pushes(to: 0..<20, every: .seconds(20), until: repair)
            try await shell.run(until: repair + .seconds(40), arrivals: arrivals) { _, now, _ in
                start <= now && now < repair ? "BadDeviceToken" : nil
            }
            #expect(shell.unregistered.isEmpty)
            #expect(try await shell.count(.sent) == 20 + arrivals.count)
            let issue = try #require(shell.issues.first)
            #expect(issue.time < start + minutes(5) && issue.text.contains("not even to devices that have worked: BadDeviceToken"))
            // While it fails, one push at a time.
            #expect(shell.attempts.count { start + minutes(6) <= $0.time && $0.time < repair } <= 20 + 54 * 60 / 15)
        }
    }

    @Test func `phones of a new environment do not testify against those of the old one`() async throws {
        let old = 0..<12
        try await ShellSimulation.with(.apn, devices: 40, proven: old) { shell in
            let arrivals =
                pushes(to: old, every: .seconds(60), until: hours(2))
                + pushes(to: 12..<40, from: .seconds(10), every: .seconds(60), until: hours(2))
            try await shell.run(until: hours(2), arrivals: arrivals) { device, _, _ in old.contains(device) ? "BadDeviceToken" : nil }
            #expect(shell.unregistered.isEmpty)
            #expect(try await shell.count(.sent) == old.count + 120)
            #expect(shell.lineCount("pushes are not delivered") <= 1)
            #expect(shell.running.loop.healthIssues + shell.running.loop.warnings != [])
        }
    }

    @Test func `invented tokens delay nobody and are gone after twenty minutes of traffic`() async throws {
        let invented = 10..<60
        try await ShellSimulation.with(.firebase, devices: 60, proven: 0..<10) { shell in
            let honest = pushes(to: 0..<10, every: .seconds(4), until: minutes(20))
            let arrivals = honest + pushes(to: invented, every: .milliseconds(200), until: .seconds(10))
            try await shell.run(until: minutes(20), arrivals: arrivals) { device, _, _ in invented.contains(device) ? Self.notFound : nil }
            #expect(try await shell.count(.sent) == 10 + honest.count)
            #expect(shell.unregistered.allSatisfy(invented.contains) && shell.issues.isEmpty && shell.warnings.isEmpty)
            #expect(try await shell.running.isAllDone())
            for device in invented {
                #expect(shell.attempts.count { $0.device == device } <= OutcomeRules.maximumAttemptsOfUnproven)
            }
        }
    }

    @Test func `three uninstalled phones at night raise a warning and no alarm, and go in the morning`() async throws {
        let dead = 8..<11
        try await ShellSimulation.with(.firebase, devices: 11, proven: 0..<11) { shell in
            let respond: @Sendable (Int, Duration, inout SplitMix64) -> String? = { device, _, _ in
                dead.contains(device) ? Self.notFound : nil
            }
            try await shell.run(until: hours(2), arrivals: pushes(to: dead, every: .seconds(60), until: hours(2)), respond: respond)
            #expect(shell.issues.isEmpty && !shell.warnings.isEmpty && shell.unregistered.isEmpty)
            let morning = pushes(to: 0..<11, from: hours(2), every: .seconds(10), until: hours(3))
            try await shell.run(until: hours(3), arrivals: morning, respond: respond)
            #expect(shell.issues.isEmpty && shell.unregistered == Set(dead))
        }
    }

    @Test func `of five phones with a push an hour, the two uninstalled ones go without an alarm`() async throws {
        try await ShellSimulation.with(.firebase, devices: 5, proven: 0..<5) { shell in
            let arrivals = (0..<5).flatMap { pushes(to: $0..<$0 + 1, from: minutes(12 * $0), every: hours(1), until: hours(14)) }
            try await shell.run(until: hours(14), arrivals: arrivals, step: minutes(1)) { device, _, _ in device >= 3 ? Self.notFound : nil
            }
            #expect(shell.issues.isEmpty && shell.unregistered == [3, 4])
            #expect((0..<3).allSatisfy { shell.deliveries(to: $0) == 14 })
        }
    }

    @Test func `with a push a day for each phone, the dead one goes and the others stay`() async throws {
        try await ShellSimulation.with(.firebase, devices: 4, proven: 0..<4) { shell in
            let arrivals = (0..<4).flatMap { pushes(to: $0..<$0 + 1, from: hours(5 * $0), every: hours(24), until: hours(70)) }
            try await shell.run(until: hours(70), arrivals: arrivals, step: minutes(5)) { device, _, _ in device == 3 ? Self.notFound : nil
            }
            #expect(shell.issues.isEmpty && shell.unregistered == [3])
            #expect((0..<3).allSatisfy { shell.deliveries(to: $0) == 3 })
        }
    }

    @Test func `a single invalid push is refused after three refusals that count`() async throws {
        try await ShellSimulation.with(.firebase, devices: 6, proven: 0..<6) { shell in
            let arrivals = pushes(to: 0..<5, every: .seconds(1), until: minutes(1)) + [(time: .seconds(10), device: 5)]
            try await shell.run(until: minutes(1), arrivals: arrivals) { device, _, _ in device == 5 ? Self.invalid : nil }
            #expect(shell.attempts.count { $0.device == 5 } == 4)
            #expect(try await shell.count(.refused) == 1)
            #expect(try await shell.count(.sent) == 6 + 60)
            #expect(shell.issues.isEmpty && shell.warnings.isEmpty && shell.unregistered.isEmpty)
        }
    }

    @Test func `pushes that a wrong setting makes invalid wait for its correction`() async throws {
        try await ShellSimulation.with(.firebase, devices: 10, proven: 0..<10) { shell in
            let repair = hours(1)
            let arrivals = pushes(to: 0..<10, every: .seconds(30), until: repair)
            try await shell.run(until: repair + .seconds(40), arrivals: arrivals) { _, now, _ in now < repair ? Self.invalid : nil }
            #expect(try await shell.count(.refused) == 0)
            #expect(try await shell.count(.sent) == 10 + arrivals.count)
            #expect(shell.issues.contains { $0.text.contains("not even to devices that have worked: \(Self.invalid)") })
        }
    }

    @Test("Two gorush with different projects behind one address unregister nobody", arguments: [50.0, 1.35])
    func balancer(percentage: Double) async throws {
        try await ShellSimulation.with(.firebase, devices: 20, proven: 0..<20) { shell in
            let end = minutes(30)
            let arrivals = pushes(to: 0..<20, every: .seconds(3), until: end)
            try await shell.run(until: end + minutes(11), arrivals: arrivals) { _, now, random in
                now < end && Double.random(in: 0..<100, using: &random) < percentage ? Self.mismatch : nil
            }
            #expect(shell.unregistered.isEmpty && shell.issues.isEmpty)
            #expect(try await shell.count(.sent) == 20 + arrivals.count)
            let mixed = shell.warnings.filter { $0.text.contains("two gorush behind one address") }
            #expect(percentage == 50 ? mixed.contains { $0.time < minutes(5) } : mixed.isEmpty)
        }
    }

    /// gorush gives up after a while, and reports Go's words.
    @Test func `a hanging Apple is told until a push is delivered`() async throws {
        try await ShellSimulation.with(.apn, devices: 10, proven: 0..<10) { shell in
            let (start, repair) = (Duration.seconds(20), Duration.seconds(20) + minutes(30))
            let arrivals = pushes(to: 0..<10, every: .seconds(10), until: repair)
            try await shell.run(until: repair, arrivals: arrivals) { _, now, _ in
                now < start ? nil : #"Post "https://api.push.apple.com/3/device/a1": context deadline exceeded"#
            }
            #expect(try #require(shell.issues.first).time < start + minutes(2))
            #expect(shell.lineCount("pushes are delivered again") == 0 && shell.running.loop.healthIssues.count == 1)
            try await shell.run(until: repair + .seconds(40)) { _, _, _ in nil }
            #expect(try await shell.count(.sent) == 10 + arrivals.count)
            #expect(shell.lineCount("pushes are delivered again") == 1 && shell.running.loop.healthIssues == [])
        }
    }

    @Test("A quota is waited for, and is no fault of the route", arguments: ["TooManyRequests", "Quota exceeded for quota metric 'x'"])
    func quota(words: String) async throws {
        try await ShellSimulation.with(words == "TooManyRequests" ? .apn : .firebase, devices: 5, proven: 0..<5) { shell in
            let arrivals = pushes(to: 0..<4, every: minutes(5), until: hours(1)) + [(time: .seconds(10), device: 4)]
            try await shell.run(until: hours(1), arrivals: arrivals) { device, now, _ in
                device == 4 && now < minutes(40) ? words : nil
            }
            #expect(shell.issues.isEmpty && shell.warnings.isEmpty && shell.unregistered.isEmpty)
            #expect(try await shell.count(.sent) == 5 + arrivals.count)
            #expect(shell.attempts.count { $0.device == 4 } <= 20)
        }
    }
}
