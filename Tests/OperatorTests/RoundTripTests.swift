import Bytes
import Delivery
import Envelope
import Foundation
import PushProtocol
import Store
import TestServers
import TestSupport
import Testing
import Wire

@testable import Observation
@testable import Operator
@testable import Transport

/// What a server shows comes back in each field of the status, and what a database has in each field of a report's JSON.
///
/// Not here: the bodies of the other admin endpoints, which `DoctorTests` and `AdminTests` of the daemon read from real processes.
@Suite(.safetyNet) struct RoundTripTests {
    private static let keyHash = Digest64(repeating: 0xAB)
    private static let hexHash = String(repeating: "ab", count: 64)

    /// A time after 2023-11-14T22:00:00Z.
    private static func time(_ seconds: Int64) -> Timestamp { Timestamp(nanoseconds: (1_699_999_200 + seconds) * 1_000_000_000) }

    // MARK: Status

    private static func snapshot(_ index: Int) -> StatusSnapshot {
        var last = 0
        func next() -> Int {
            last += 1
            return last
        }
        func text() -> String { "text \(next())" }
        func history() -> StatusSnapshot.History { .init(hour: [next(), nil], day: [nil, next()]) }
        func finding() -> StatusSnapshot.Finding {
            var finding = StatusSnapshot.Finding(kind: text(), text: text(), advice: text(), command: text(), runbook: text())
            finding.seconds = next()
            return finding
        }
        func hour() -> StatusSnapshot.HourFlow {
            .init(received: next(), accepted: next(), sent: next(), deadToken: next(), expired: next())
        }
        var snapshot = StatusSnapshot()
        snapshot.isReady = index == 0
        snapshot.stateSeconds = next()
        snapshot.issues = [finding()]
        snapshot.warnings = [finding(), finding()]
        snapshot.canary = .init(ageSeconds: next(), hasSucceeded: index == 1, isLate: index == 2, problem: text())
        snapshot.store.ageSeconds = next()
        snapshot.store.openPushes = next()
        snapshot.store.oldestPushSeconds = next()
        snapshot.store.undecidedMessages = next()
        snapshot.store.unpublishedReplies = next()
        snapshot.store.registrations = next()
        snapshot.store.ledger.received = next()
        snapshot.store.ledger.accepted = next()
        snapshot.store.ledger.sent = next()
        snapshot.store.ledger.deadToken = next()
        snapshot.store.ledger.expired = next()
        snapshot.store.ledger.other = next()
        snapshot.store.ledger.others = ["merged": next()]
        snapshot.store.ledger.balances = index != 0
        snapshot.flow.lastHour = hour()
        snapshot.flow.hourYesterday = hour()
        snapshot.replies = .init(count: next(), lateCount: next(), p50Milliseconds: next(), p99Milliseconds: next())
        snapshot.messagesInFlight = next()
        snapshot.waitingReplies = next()
        snapshot.topicDirectoryEntries = next()
        var node = StatusSnapshot.Node()
        (node.name, node.isUsable, node.connection, node.lastMessageSeconds, node.gaps) = (text(), index == 0, text(), next(), next())
        snapshot.nodes = [node]
        var route = StatusSnapshot.Route()
        (route.name, route.platform, route.gorush) = (text(), text(), text())
        (route.isDelivering, route.isBreakerOpen) = (index == 1, index == 2)
        (route.holdSeconds, route.sent, route.failed, route.lastSentSeconds) = (next(), next(), next(), next())
        snapshot.routes = [route]
        (snapshot.files.databaseBytes, snapshot.files.walBytes, snapshot.files.freeBytes) = (next(), next(), next())
        snapshot.newestBackupSeconds = next()
        snapshot.sealedPercent = next()
        snapshot.histories.received = history()
        snapshot.histories.accepted = history()
        snapshot.histories.sent = history()
        snapshot.histories.openPushes = history()
        snapshot.histories.registrations = history()
        snapshot.serverName = text()
        snapshot.members = [.init(name: text(), state: text(), version: text())]
        snapshot.version = text()
        snapshot.uptimeSeconds = next()
        snapshot.publicKey = text()
        return snapshot
    }

    @Test func `a status is read as it was written`() throws {
        let snapshots = (0..<3).map(Self.snapshot)
        expectAllFields(of: snapshots)
        expectAllFields(of: snapshots.map { $0.issues[0] })
        expectAllFields(of: snapshots.map { $0.nodes[0] })
        expectAllFields(of: snapshots.map { $0.routes[0] })
        expectAllFields(of: snapshots.compactMap { $0.members?[0] })
        for snapshot in snapshots {
            #expect(try JSONDecoder().decode(StatusSnapshot.self, from: JSONEncoder().encode(snapshot)) == snapshot)
        }
        #expect(try JSONDecoder().decode(StatusSnapshot.self, from: JSONEncoder().encode(StatusSnapshot())) == StatusSnapshot())
    }

    /// Histories of a day and an hour, in which each figure rises by another amount a minute.
    private static let histories: StatusHistories = {
        var histories = StatusHistories()
        for minute in 0...1_500 {
            let count = Int64(minute)
            var figures = StoreFigures()
            figures.ledger.counts = [
                .received: 7 * count, .accepted: 6 * count, .sent: 5 * count, .deadToken: 4 * count, .expired: 3 * count,
            ]
            (figures.ledger.openCount, figures.registrationCount) = (2 * count, minute)
            histories.record(figures, minute: minute)
        }
        return histories
    }()

    private static let hour = StatusSnapshot.HourFlow(received: 420, accepted: 360, sent: 300, deadToken: 240, expired: 180)

    @Test func `the histories' file keeps each figure`() async throws {
        let folder = try TemporaryFolder()
        let file = StatusHistoryFile(path: folder.path("history"), owner: "one")
        await file.write(Self.histories)
        let read = file.read()
        #expect(read.lastHour == Self.hour && read.hourYesterday == Self.hour)
        let all = read.all
        for (history, amount) in [(all.received, 7), (all.accepted, 6), (all.sent, 5)] {
            #expect(history.hour == Array(repeating: amount, count: 60) && history.day == Array(repeating: 10 * amount, count: 144))
        }
        for (history, amount) in [(all.openPushes, 2), (all.registrations, 1)] {
            #expect(history.hour == (1_441...1_500).map { amount * $0 } && history.day == (7...150).map { 10 * amount * $0 })
        }
    }

    @Test func `a status has each figure of the server's parts in its own field`() async throws {
        let clock = ManualClock()
        var sources = StatusSources { condition in
            .init(kind: condition.kind, text: condition.text, advice: "advice", command: "command")
        }
        sources.readiness = {
            var observation = ReadinessObservation()
            observation.update(issues: [], warnings: [], at: .seconds(1))
            observation.update(issues: [.node("issue")], warnings: [.route("warning")], at: .seconds(3))
            return observation
        }
        sources.store = {
            var figures = StoreFigures()
            for (number, milestone) in Milestone.allCases.enumerated() { figures.ledger.counts[milestone] = Int64(100 + number) }
            (figures.ledger.openCount, figures.ledger.undecidedCount) = (11, 12)
            (figures.unpublishedCount, figures.registrationCount, figures.databaseByteCount) = (13, 14, 15)
            let members = [ClusterMember(number: 1, name: "two", version: "0.3", state: .leaving, lease: .zero)]
            let reading = StoreReading(
                figures: figures, oldestPushAge: .seconds(16), sealing: .resealing(0.17), members: members)
            return (reading, .seconds(18))
        }
        sources.engine = {
            var engine = StatusSources.Engine()
            (engine.messagesInFlight, engine.waitingReplies, engine.topicDirectoryEntries) = (19, 20, 21)
            return engine
        }
        sources.canary = { .init(ageSeconds: 22, hasSucceeded: true, isLate: false, problem: "problem") }
        sources.replyTimes = { ReplyTimes(bounds: [0.023, 2.4, 30], counts: [500, 490, 9, 1]) }
        sources.nodes = {
            [NodeReport(name: "node", issues: ["down"], connection: "Connected", lastMessageAge: .seconds(26), gapCount: 27)]
        }
        sources.files = {
            var files = StatusSnapshot.Files()
            (files.walBytes, files.freeBytes) = (28, 29)
            return files
        }
        sources.backupAge = { .seconds(30) }
        let folder = try TemporaryFolder()
        let file = StatusHistoryFile(path: folder.path("history"), owner: "one")
        await file.write(Self.histories)
        let sampler = StatusSampler(
            sources, serverName: "server", publicKey: "key", file: file, time: SteadyTime(clock: clock, start: Self.time(0)),
            wallClock: WallClock { Self.time(0) })
        clock.advance(by: .seconds(1_000))

        var expected = StatusSnapshot()
        expected.stateSeconds = 997
        func finding(_ kind: String, _ text: String, _ seconds: Int?) -> StatusSnapshot.Finding {
            var finding = StatusSnapshot.Finding(kind: kind, text: text, advice: "advice", command: "command")
            finding.seconds = seconds
            return finding
        }
        expected.issues = [finding("node", "issue", 997)]
        expected.warnings = [finding("route", "warning", 997)]
        expected.canary = .init(ageSeconds: 22, hasSucceeded: true, isLate: false, problem: "problem")
        (expected.store.ageSeconds, expected.store.openPushes, expected.store.oldestPushSeconds) = (18, 11, 34)
        (expected.store.undecidedMessages, expected.store.unpublishedReplies, expected.store.registrations) = (12, 13, 14)
        (expected.store.ledger.received, expected.store.ledger.accepted, expected.store.ledger.sent) = (100, 105, 108)
        (expected.store.ledger.expired, expected.store.ledger.deadToken) = (109, 110)
        expected.store.ledger.others = ["merged": 106, "coalesced": 107, "refused": 111, "discarded": 112, "withdrawn": 113]
        expected.store.ledger.other = 106 + 107 + 111 + 112 + 113
        (expected.flow.lastHour, expected.flow.hourYesterday) = (Self.hour, Self.hour)
        expected.replies = .init(count: 1_000, lateCount: 10, p50Milliseconds: 23, p99Milliseconds: 2_400)
        (expected.messagesInFlight, expected.waitingReplies, expected.topicDirectoryEntries) = (19, 20, 21)
        var node = StatusSnapshot.Node()
        (node.name, node.connection, node.lastMessageSeconds, node.gaps) = ("node", "Connected", 26, 27)
        expected.nodes = [node]
        (expected.files.databaseBytes, expected.files.walBytes, expected.files.freeBytes) = (15, 28, 29)
        (expected.newestBackupSeconds, expected.sealedPercent) = (30, 17)
        expected.histories = Self.histories.all
        (expected.serverName, expected.version, expected.uptimeSeconds, expected.publicKey) = ("server", BuildInfo.version, 1_000, "key")
        expected.members = [.init(name: "two", state: "leaving", version: "0.3")]
        #expect(sampler.snapshot() == expected)
    }

    // MARK: Reports

    private func json(_ report: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }

    private static let push = TracedPush(
        message: 7, receivedAt: time(1), route: "route", acceptedAt: time(2), attemptCount: 3, attemptedAt: time(4), reason: "reason",
        words: "words", state: .finished(.refused, at: time(5)))

    /// The part of an entry that a push has.
    private static let pushJSON = """
        "acceptedAt":"2023-11-14T22:00:02Z","attemptedAt":"2023-11-14T22:00:04Z","attempts":3,"finishedAt":"2023-11-14T22:00:05Z"
        """

    @Test func `a traced push has its fields in JSON`() async throws {
        let target = Installation(keyHash: Self.keyHash, installationID: "installation")
        let report = try await TraceReport(to: target, reading: StubViews(pushes: [Self.push]))
        #expect(
            try json(report) == """
                [{\(Self.pushJSON),"installationID":"installation","keyHash":"\(Self.hexHash)","reason":"reason",\
                "receivedAt":"2023-11-14T22:00:01Z","result":"accepted","route":"route","state":"refused","words":"words"}]
                """)
    }

    @Test(arguments: [false, true]) func `a traced request has its fields in JSON`(isPublished: Bool) async throws {
        let target = Installation(keyHash: Self.keyHash, installationID: "installation")
        let results: [(TracedRequest.Report, result: String, hasPush: Bool)] = [
            (.init(target: target, error: nil, push: Self.push), "accepted", true),
            (.init(target: target, error: .wrongToken, push: nil), "WRONG_TOKEN", false),
            (.init(target: target, error: .internalError, push: nil), "INTERNAL_ERROR", false),
            (.init(target: target, error: .notRegistered, push: nil), "NOT_REGISTERED", false),
            (
                .init(target: target, error: nil, push: nil), "accepted, then coalesced with another push or filtered by the registration",
                false
            ),
        ]
        let request = TracedRequest(
            message: 7, receivedAt: Self.time(6), decidedAt: Self.time(8), isPublished: isPublished, reports: results.map(\.0))
        let entries = results.map { _, result, hasPush in
            """
            {\(hasPush ? Self.pushJSON + "," : "")"installationID":"installation","isReplyPublished":\(isPublished),\
            "keyHash":"\(Self.hexHash)",\(hasPush ? "\"reason\":\"reason\"," : "")"receivedAt":"2023-11-14T22:00:06Z",\
            "result":"\(result)"\(hasPush ? ",\"route\":\"route\",\"state\":\"refused\",\"words\":\"words\"" : "")}
            """
        }
        #expect(
            try json(try await TraceReport(ofMessage: [1], reading: StubViews(requests: [request])))
                == "[\(entries.joined(separator: ","))]")
    }

    @Test func `a traced push has each state by a name of its own`() throws {
        let states = OpenPushState.allCases.map(TracedPush.State.open) + PushOutcome.allCases.map { .finished($0, at: Self.time(5)) }
        let names = states.map { state in
            var push = Self.push
            push.state = state
            return TraceEntry(push, to: Installation(keyHash: Self.keyHash, installationID: "")).state
        }
        #expect(
            names == [
                "waiting", "in flight", "waiting, the newest attempt is in flight or uncertain", "sent", "expired", "deadToken", "refused",
                "discarded", "withdrawn",
            ])
    }

    @Test func `what waits has its fields in JSON`() async throws {
        var views = StubViews()
        views.waiting = WaitingPushes(
            groups: [.init(route: "ios", reason: "reason", count: 1, oldestTime: Self.time(2))], oldest: [Self.push],
            finishedCounts: Dictionary(uniqueKeysWithValues: zip(PushOutcome.allCases, 11...)), openCount: 20)
        for (number, milestone) in Milestone.allCases.enumerated() { views.facts.counts[milestone] = Int64(100 + number) }
        views.facts.openCount = 21
        let report = try await PushesReport(since: Self.time(3), at: Self.time(32), reading: views)
        #expect(
            try json(report) == """
                {"groups":[{"count":1,"oldestAcceptedAt":"2023-11-14T22:00:02Z","oldestSeconds":30,"reason":"reason","route":"ios"}],\
                "ledger":{"accepted":105,"coalesced":107,"deadToken":110,"discarded":112,"expired":109,"merged":106,"refused":111,\
                "sent":108,"waiting":21,"withdrawn":113},"oldest":[{"acceptedAt":"2023-11-14T22:00:02Z",\
                "attemptedAt":"2023-11-14T22:00:04Z","attempts":3,"reason":"reason","route":"route","words":"words"}],\
                "since":"2023-11-14T22:00:03Z","sums":{"accepted":101,"deadToken":13,"discarded":15,"expired":12,"refused":14,"sent":11,\
                "waiting":20,"withdrawn":16}}
                """)
    }

    @Test func `registrations and removed ones have their fields in JSON`() async throws {
        var views = StubViews()
        views.counts = RegistrationCounts(live: [.apn: 1, .firebase: 2], tombstones: 3, nextcloud: 4, nextcloudOrigin: 5)
        #expect(
            try json(try await RegistrationCountsReport(since: nil, reading: views))
                == #"{"apn":1,"firebase":2,"nextcloud":4,"nextcloudOrigin":5,"unregistered":3}"#)
        views.summaries = [(true, TokenType.apn, true), (true, .firebase, false), (false, .apn, true)].map { isLive, type, isEnabled in
            RegistrationSummary(
                installationID: "installation", version: .max, isLive: isLive, updatedAt: Self.time(1), tokenType: type, apnTopic: "app",
                isEnabled: isEnabled)
        }
        let version = #""version":"18446744073709551615""#
        #expect(
            try json(try await RegistrationsReport(of: Self.keyHash, reading: views)) == """
                [{"bundleID":"app","installationID":"installation","isEnabled":true,"isRegistered":true,"tokenType":"apn",\(version)},\
                {"bundleID":"app","installationID":"installation","isEnabled":false,"isRegistered":true,"tokenType":"firebase",\(version)},\
                {"installationID":"installation","isRegistered":false,\(version)}]
                """)
        views.dead = [
            DeadRegistration(
                id: 9, diedAt: Self.time(1), reason: "reason", route: "route",
                installation: Installation(keyHash: Self.keyHash, installationID: "installation"), version: .max)
        ]
        #expect(
            try json(try await DeadTokensReport(limit: 1, reading: views)) == """
                [{"diedAt":"2023-11-14T22:00:01Z","id":9,"installationID":"installation","keyHash":"\(Self.hexHash)","reason":"reason",\
                "route":"route",\(version)}]
                """)
    }

    @Test func `servers and their work have their fields in JSON`() async throws {
        let members = ClusterMember.State.allCases.map { state in
            ClusterMember(
                number: 1, name: "one", version: "0.4", state: state, lease: .seconds(2), undecidedCount: 3, unrepliedCount: 4,
                openPushCount: 5, oldestUndecided: Self.time(6), jobs: ["prune"])
        }
        func servers(_ states: [String]) -> String {
            let entries = states.map { state in
                """
                {"jobs":["prune"],"leaseSeconds":2,"name":"one","number":1,"oldestUndecidedSeconds":7,"openPushes":5,\
                "state":"\(state)","undecidedMessages":3,"unpublishedReplies":4,"version":"0.4"}
                """
            }
            return "{\"servers\":[\(entries.joined(separator: ","))]}"
        }
        for (includesFenced, states) in [(true, ["alive", "leaving", "expired", "fenced"]), (false, ["alive", "leaving", "expired"])] {
            let report = try await ClusterReport(
                reading: StubCluster(members: members), includesFenced: includesFenced, at: Self.time(13))
            #expect(try json(report) == servers(states))
        }
        var views = StubViews()
        views.facts.setAside = ["push 1"]
        var work = ServerWork()
        (work.counts, work.undecidedCount, work.openCount) = ([.received: 1, .deadToken: 2], 3, 4)
        views.facts.servers = ["one": work]
        let audit = try json(try await AuditReport(reading: views) { _ in })
        #expect(
            audit.hasSuffix(
                """
                "servers":[{"counts":[{"count":1,"event":"received"},{"count":2,"event":"dead_token"}],"name":"one","openPushes":4,\
                "undecidedMessages":3}],"setAside":1,"setAsideRows":["push 1"]}
                """))
    }
}
