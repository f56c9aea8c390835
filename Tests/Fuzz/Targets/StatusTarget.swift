#if DEBUG || FUZZER
    import Foundation
    import Observation
    import Operator

    extension FuzzTarget {
        /// The status of a server as `pushctl top` shows it. Whatever listens at the address writes it.
        static let status = FuzzTarget(name: "status", vectors: [], samples: samples) { input throws(Violation) in
            guard let screen = try? StatusScreen(json: Data(input)) else { return }
            for width in [0, 24, 80, 1_000] { _ = screen.lines(width: width) }
        }

        private static var samples: [String] {
            var histories = StatusSnapshot.Histories()
            histories.received = .init(hour: [0, 1, nil, 2, 7, 70], day: [1, 2])
            let snapshot = StatusSnapshot(
                isReady: false, stateSeconds: 1, issues: [.init(kind: "store", text: "a", advice: "b", command: "c")], warnings: [],
                canary: .init(ageSeconds: 42, hasSucceeded: true, isLate: false),
                store: .init(
                    openPushes: 14, oldestPushSeconds: 21, undecidedMessages: 2, unpublishedReplies: 5, registrations: 18_250,
                    ledger: .init(received: 9_423_187, accepted: 104, sent: 80, deadToken: 4, expired: 1, other: 5, balances: true)),
                flow: .init(lastHour: .init(received: 31_204, accepted: 9, sent: 8, deadToken: 1, expired: 0), hourYesterday: nil),
                replies: .init(count: 801, lateCount: 12, p50Milliseconds: 25, p99Milliseconds: 2_500), messagesInFlight: 3,
                waitingReplies: 5, topicDirectoryEntries: 36_500,
                nodes: [.init(name: "127.0.0.1:8645", isUsable: true, connection: "Connected", lastMessageSeconds: 1, gaps: 2)],
                routes: [
                    .init(
                        name: "ios", platform: "ios", gorush: "http://127.0.0.1:8088", isDelivering: true, isBreakerOpen: false,
                        sent: 81_022, failed: 37, lastSentSeconds: 2)
                ], files: .init(databaseBytes: 1_900_000_000, walBytes: 4_200_000, freeBytes: 212_000_000_000), newestBackupSeconds: 7,
                sealedPercent: 12, histories: histories, serverName: "one", version: "0.1.0", uptimeSeconds: 86_400, publicKey: "0x04ab")
            return (try? JSONEncoder().encode(snapshot)).map { [String(decoding: $0, as: UTF8.self)] } ?? []
        }
    }
#endif
