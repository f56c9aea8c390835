import CoreMetrics
import Envelope
import Logging
import MetricDeclarations
import Store

/// What the start says and does after the database of several servers went back in time, which ended the process before.
struct LostTimes: Sendable {
    /// The lifetime of a push. If the database went back further, the pushes before end as after a restored backup.
    private static let pushLifetime = Duration.seconds(3_600)

    static let count = Metric(
        .counter, "pushserver_database_lost_times_total",
        help: "How often the database went back in time, as this server and earlier ones of its name have noticed.")

    private let recent: [LostTime]
    private let wallClock: WallClock

    /// Reads the lost times, and ends the pushes before them.
    ///
    /// - Parameter cluster: nil if this server doesn't share its database, whose file brings its checkpoint when it is restored.
    init(of cluster: (any ClusterStore)?, wallClock: WallClock, logger: Logger) async throws {
        let now = wallClock.now()
        let all = try await cluster?.lostTimes() ?? []
        Self.count.counter().increment(by: all.count)
        recent = all.filter { $0.isRecent(at: now) }
        self.wallClock = wallClock
        for lost in recent {
            logger.warning("the database has gone back in time", metadata: ["lost": "\(lost)"])
            guard let cluster, lost.start.duration(to: lost.end) > Self.pushLifetime else { continue }
            let count = try await cluster.endRestoredPushes(acceptedBefore: lost.end.advanced(by: .zero - Self.pushLifetime), at: now)
            logger.warning("pushes from before it have ended as restored", metadata: ["count": "\(count)"])
        }
    }

    var warnings: [String] {
        let now = wallClock.now()
        return recent.filter { $0.isRecent(at: now) }.map { lost in
            "the database has gone back in time: what was written \(lost) is lost, and what the node's store has of it is read again"
        }
    }
}

extension LostTime {
    /// How long after it was noticed a lost time is told.
    private static let toldTime = Duration.seconds(3_600)

    fileprivate func isRecent(at now: Timestamp) -> Bool { noticedAt.ifPast(at: now).map { $0.duration(to: now) < Self.toldTime } ?? false }
}
