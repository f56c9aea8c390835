import Foundation
import Observation

extension StatusSnapshot {
    /// A server on a busy day. The snapshot has each of its parts.
    static let sample: StatusSnapshot = {
        var sample = StatusSnapshot()
        sample.isReady = true
        sample.stateSeconds = 273_000
        sample.warnings = [
            .init(
                kind: "route", text: "delivery ios: ios.production is false: gorush sends to the sandbox of Apple",
                advice: "Compare gorush's configuration with Config/gorush.yml, and its keys with the app.",
                command: "export PUSHSERVER_CONFIG=/etc/pushserver/pushserver.yaml\npushserver check-config --probe > /dev/null",
                runbook: "/runbook#warnings")
        ]
        sample.canary = .init(ageSeconds: 42, hasSucceeded: true, isLate: false)
        sample.store.ageSeconds = 1
        sample.store.openPushes = 14
        sample.store.oldestPushSeconds = 21
        sample.store.undecidedMessages = 2
        sample.store.unpublishedReplies = 5
        sample.store.registrations = 18_250
        sample.store.ledger.received = 9_423_187
        sample.store.ledger.accepted = 2_104_951
        sample.store.ledger.sent = 2_051_320
        sample.store.ledger.deadToken = 1_204
        sample.store.ledger.expired = 310
        sample.store.ledger.other = 52_103
        sample.store.ledger.others = ["merged": 50_003, "coalesced": 2_000, "discarded": 100]
        sample.store.ledger.balances = true
        sample.flow.lastHour = .init(received: 31_204, accepted: 7_310, sent: 7_198, deadToken: 4, expired: 0)
        sample.flow.hourYesterday = .init(received: 29_950, accepted: 7_022, sent: 7_011, deadToken: 2, expired: 1)
        sample.replies = .init(count: 23_801, lateCount: 12, p50Milliseconds: 25, p99Milliseconds: 250)
        sample.messagesInFlight = 3
        sample.waitingReplies = 5
        sample.topicDirectoryEntries = 36_500
        sample.nodes = [.sample]
        sample.routes = [.sample("ios", sent: 81_022, failed: 37), .sample("android", sent: 104_377, failed: 12)]
        sample.files.databaseBytes = 1_900_000_000
        sample.files.walBytes = 4_200_000
        sample.files.freeBytes = 212_000_000_000
        sample.newestBackupSeconds = 19_000
        sample.sealedPercent = 100
        sample.serverName = "one"
        sample.version = "0.3.0"
        sample.uptimeSeconds = 273_012
        sample.publicKey = "0x04" + String(repeating: "5eb1", count: 32)
        sample.histories.received = .wave(around: 520, per: 5_200)
        sample.histories.accepted = .wave(around: 122, per: 1_220)
        sample.histories.sent = .wave(around: 120, per: 1_200)
        sample.histories.openPushes = .wave(around: 12, per: 15)
        sample.histories.registrations = .init(hour: (0..<60).map { 18_190 + $0 }, day: (0..<144).map { $0 == 70 ? nil : 17_100 + 8 * $0 })
        return sample
    }()

    /// The sample server shortly after its start: node and gorush are unreachable, and the store was not read for a while.
    static let troubled: StatusSnapshot = {
        var troubled = sample
        troubled.isReady = false
        troubled.stateSeconds = 61
        troubled.issues = [
            .init(
                kind: "node", text: "node 127.0.0.1:8645: </p><script>alert(\"&\")</script>", advice: "Start <it>.", command: "a <b> && c")
        ]
        troubled.canary = nil
        troubled.store.ageSeconds = 55
        troubled.flow = .init()
        troubled.replies = .init()
        troubled.nodes[0].isUsable = false
        troubled.nodes[0].connection = nil
        troubled.nodes[0].lastMessageSeconds = nil
        troubled.nodes[0].gaps = 0
        troubled.routes[0].isDelivering = false
        troubled.routes[0].isBreakerOpen = true
        troubled.routes[1].lastSentSeconds = nil
        troubled.newestBackupSeconds = nil
        troubled.files = .init()
        troubled.histories = .init()
        return troubled
    }()
}

extension StatusSnapshot.Node {
    fileprivate static var sample: Self {
        var node = Self()
        node.name = "127.0.0.1:8645"
        node.isUsable = true
        node.connection = "Connected"
        node.lastMessageSeconds = 1
        node.gaps = 2
        return node
    }
}

extension StatusSnapshot.Route {
    fileprivate static func sample(_ platform: String, sent: Int, failed: Int) -> Self {
        var route = Self()
        route.name = platform
        route.platform = platform
        route.gorush = "http://127.0.0.1:8088"
        route.isDelivering = true
        route.sent = sent
        route.failed = failed
        route.lastSentSeconds = platform == "ios" ? 2 : 1
        return route
    }
}

extension StatusSnapshot.History {
    /// Returns a history that rises and falls over a day. Its whole numbers are equal on all machines.
    fileprivate static func wave(around hour: Int, per day: Int) -> StatusSnapshot.History {
        func value(_ step: Int, of period: Int, around middle: Int) -> Int {
            let distance = abs(step % period - period / 2) * 100 / period
            return middle * (150 - distance * 2) / 100 + middle * (step * 7_919 % 23) / 120
        }
        return .init(
            hour: (0..<60).map { value($0 + 20, of: 120, around: hour) }, day: (0..<144).map { value($0, of: 144, around: day) })
    }
}
