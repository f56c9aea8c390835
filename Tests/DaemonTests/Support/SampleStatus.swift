import Foundation
import Observation

extension StatusSnapshot {
    /// A server on a busy day. The snapshot has each of its parts.
    static let sample: StatusSnapshot = {
        var sample = StatusSnapshot(
            isReady: true, stateSeconds: 273_000, issues: [],
            warnings: [
                .init(
                    kind: "route", text: "delivery ios: ios.production is false: gorush sends to the sandbox of Apple",
                    advice: "Compare gorush's configuration with Config/gorush.yml, and its keys with the app.",
                    command: "export PUSHSERVER_CONFIG=/etc/pushserver/pushserver.yaml\npushserver check-config --probe > /dev/null",
                    runbook: "/runbook#warnings")
            ],
            canary: .init(ageSeconds: 42, hasSucceeded: true, isLate: false),
            store: .init(
                ageSeconds: 1, openPushes: 14, oldestPushSeconds: 21, undecidedMessages: 2, unpublishedReplies: 5, registrations: 18_250,
                ledger: .init(
                    received: 9_423_187, accepted: 2_104_951, sent: 2_051_320, deadToken: 1_204, expired: 310, other: 52_103,
                    others: ["merged": 50_003, "coalesced": 2_000, "discarded": 100], balances: true
                )),
            flow: .init(
                lastHour: .init(received: 31_204, accepted: 7_310, sent: 7_198, deadToken: 4, expired: 0),
                hourYesterday: .init(received: 29_950, accepted: 7_022, sent: 7_011, deadToken: 2, expired: 1)),
            replies: .init(count: 23_801, lateCount: 12, p50Milliseconds: 25, p99Milliseconds: 250), messagesInFlight: 3,
            waitingReplies: 5, topicDirectoryEntries: 36_500,
            nodes: [.init(name: "127.0.0.1:8645", isUsable: true, connection: "Connected", lastMessageSeconds: 1, gaps: 2)],
            routes: [
                .init(
                    name: "ios", platform: "ios", gorush: "http://127.0.0.1:8088", isDelivering: true, isBreakerOpen: false, sent: 81_022,
                    failed: 37, lastSentSeconds: 2),
                .init(
                    name: "android", platform: "android", gorush: "http://127.0.0.1:8088", isDelivering: true, isBreakerOpen: false,
                    sent: 104_377, failed: 12, lastSentSeconds: 1),
            ],
            files: .init(databaseBytes: 1_900_000_000, walBytes: 4_200_000, freeBytes: 212_000_000_000), newestBackupSeconds: 19_000,
            sealedPercent: 100, histories: .init(),
            serverName: "one", version: "0.3.0", uptimeSeconds: 273_012, publicKey: "0x04" + String(repeating: "5eb1", count: 32))
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
        troubled.flow = .init(lastHour: nil, hourYesterday: nil)
        troubled.replies = .init(count: 0, lateCount: 0, p50Milliseconds: nil, p99Milliseconds: nil)
        troubled.nodes = [.init(name: "127.0.0.1:8645", isUsable: false, connection: nil, lastMessageSeconds: nil, gaps: 0)]
        troubled.routes[0].isDelivering = false
        troubled.routes[0].isBreakerOpen = true
        troubled.routes[1].lastSentSeconds = nil
        troubled.newestBackupSeconds = nil
        troubled.files = .init(databaseBytes: nil, walBytes: nil, freeBytes: nil)
        troubled.histories = .init()
        return troubled
    }()
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
