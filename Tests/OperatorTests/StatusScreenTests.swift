import Foundation
import Observation
import TestSupport
import Testing

@testable import Operator

/// The screen of `pushctl top`.
@Suite(.safetyNet)
struct StatusScreenTests {
    private static var well: StatusSnapshot {
        var well = StatusSnapshot()
        well.isReady = true
        well.stateSeconds = 3_599
        well.canary = .init(ageSeconds: 42, hasSucceeded: true, isLate: false)
        well.store.ageSeconds = 1
        well.store.openPushes = 14
        well.store.oldestPushSeconds = 21
        well.store.undecidedMessages = 2
        well.store.unpublishedReplies = 5
        well.store.registrations = 18_250
        well.store.ledger.received = 9_423_187
        well.store.ledger.accepted = 104
        well.store.ledger.sent = 80
        well.store.ledger.deadToken = 4
        well.store.ledger.expired = 1
        well.store.ledger.other = 5
        well.store.ledger.balances = true
        well.flow.lastHour = .init(received: 31_204, accepted: 9, sent: 8, deadToken: 1, expired: 0)
        well.replies = .init(count: 801, lateCount: 12, p50Milliseconds: 25, p99Milliseconds: 2_500)
        well.messagesInFlight = 3
        well.waitingReplies = 5
        well.topicDirectoryEntries = 36_500
        var node = StatusSnapshot.Node()
        node.name = "127.0.0.1:8645"
        node.isUsable = true
        node.connection = "Connected"
        node.lastMessageSeconds = 1
        node.gaps = 2
        well.nodes = [node]
        var route = StatusSnapshot.Route()
        route.name = "ios"
        route.platform = "ios"
        route.gorush = "http://127.0.0.1:8088"
        route.isDelivering = true
        route.sent = 81_022
        route.failed = 37
        route.lastSentSeconds = 2
        well.routes = [route]
        well.files.databaseBytes = 1_900_000_000
        well.files.walBytes = 4_200_000
        well.files.freeBytes = 212_000_000_000
        well.sealedPercent = 100
        well.histories.received = .init(hour: [0, 1, nil, 2, 7, 70], day: [])
        well.serverName = "one"
        well.version = "0.1.0"
        well.uptimeSeconds = 86_400
        well.publicKey = "0x04ab"
        return well
    }

    private static var troubled: StatusSnapshot {
        var troubled = well
        troubled.isReady = false
        troubled.stateSeconds = 5
        troubled.issues = [
            .init(
                kind: "gorush", text: "delivery ios: gorush is not reachable (http://127.0.0.1:8088)",
                advice: "Start gorush, or correct gorush.url. Accepted pushes wait for up to 24 hours.",
                command: "export PUSHSERVER_CONFIG=/etc/pushserver/pushserver.yaml\npushserver check-config --probe > /dev/null")
        ]
        troubled.canary = nil
        troubled.store.ageSeconds = 55
        troubled.flow = .init()
        troubled.replies = .init()
        troubled.nodes = []
        troubled.routes[0].isDelivering = false
        troubled.routes[0].isBreakerOpen = true
        troubled.routes[0].lastSentSeconds = nil
        troubled.histories = .init()
        return troubled
    }

    /// Returns the screen's text with a plain space for each U+202F between groups of digits.
    private func text(_ snapshot: StatusSnapshot, width: Int) -> String {
        StatusScreen(snapshot).lines(width: width).joined(separator: "\n").replacing("\u{202F}", with: " ")
    }

    @Test func `the storage names the newest backup`() {
        var snapshot = Self.well
        snapshot.newestBackupSeconds = 19_000
        #expect(text(snapshot, width: 80).contains("newest backup 5 h ago"))
    }

    @Test(
        arguments: [
            (nil, "unknown"), (0, "0"), (-999, "-999"), (1_000, "1 000"), (.min, "-9 223 372 036 854 775 808"),
        ] as [(Int?, String)])
    func `any number that a server sends has a text`(value: Int?, text: String) {
        #expect(StatusText.count(value) == text.replacing(" ", with: "\u{202F}"))
    }

    @Test func `a server that is well at 80 columns`() {
        #expect(
            text(Self.well, width: 80) == """
                READY for 59 min, no warnings

                canary        42 s ago
                waiting       14 pushes, the oldest for 21 s
                              2 undecided messages, 5 unpublished replies
                flow          last hour: 31 204 received, 9 accepted, 8 sent, 1 dead, 0 expired
                              yesterday: not known yet
                              in all: 104 accepted = 80 sent + 4 dead + 1 expired + 5 other + 14
                              waiting
                              ▁▁ ▁▁█ received
                replies       p50 ≤ 25 ms, p99 ≤ 2.5 s
                              12 of 801 over the 3 s that clients wait
                node          127.0.0.1:8645 usable, Connected, last message 1 s ago, 2 gaps
                gorush        ios delivering, breaker closed, 81 022 sent, 37 failed, last
                              success 2 s ago
                registrations 18 250
                storage       212 GB free, database 1.9 GB, write-ahead log 4.2 MB
                server        one: pushserver 0.1.0, up 24 h
                              0x04ab
                """)
    }

    @Test func `a server in trouble at 40 columns`() {
        #expect(
            text(Self.troubled, width: 40) == #"""
                NOT READY for 5 s, 1 issue

                ISSUE         delivery ios: gorush is
                              not reachable
                              (http://127.0.0.1:8088)
                              Start gorush, or correct
                              gorush.url. Accepted
                              pushes wait for up to 24
                              hours.
                export \
                PUSHSERVER_CONFIG=/etc/pushserver/pushs\
                erver.yaml
                pushserver check-config --probe > \
                /dev/null

                canary        off
                database      waiting, flow,
                              registrations and servers
                              are as of 55 s ago
                waiting       14 pushes, the oldest for
                              21 s
                              2 undecided messages, 5
                              unpublished replies
                flow          last hour: not known yet
                              yesterday: not known yet
                              in all: 104 accepted = 80
                              sent + 4 dead + 1 expired
                              + 5 other + 14 waiting
                replies       none in the last hour
                node          embedded
                gorush        ios NOT DELIVERING,
                              breaker open, 81 022 sent,
                              37 failed, no success
                              since the start
                registrations 18 250
                storage       212 GB free, database 1.9
                              GB, write-ahead log 4.2 MB
                server        one: pushserver 0.1.0, up
                              24 h
                              0x04ab
                """#)
    }

    @Test(arguments: [24, 30, 40, 80, 200]) func `no line is longer than the terminal is wide`(width: Int) {
        for snapshot in [Self.well, Self.troubled] {
            for line in StatusScreen(snapshot).lines(width: width) { #expect(line.count <= width, "\(line)") }
        }
    }

    @Test func `of several servers, the screen shows each, and says whose figures these are`() {
        var cluster = Self.well
        cluster.members = [.init(name: "one", state: "alive", version: "0.1.0"), .init(name: "two", state: "fenced", version: "0.1.1")]
        #expect(
            text(cluster, width: 80).contains(
                """
                servers       one alive, pushserver 0.1.0
                              two fenced, pushserver 0.1.1
                              waiting, flow and registrations are of all servers
                """))
        #expect(!text(Self.well, width: 80).contains("servers"))
    }

    @Test func `the screen reads the JSON of a server, and refuses another one`() throws {
        let json = try JSONEncoder().encode(Self.well)
        #expect(try StatusScreen(json: json).lines(width: 80) == StatusScreen(Self.well).lines(width: 80))
        #expect(throws: Failure.self) { try StatusScreen(json: Data(#"{"live":true}"#.utf8)) }
    }
}
