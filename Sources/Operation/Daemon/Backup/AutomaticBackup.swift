import Bytes
import CoreMetrics
import Envelope
import Foundation
import Logging
import MetricDeclarations
import ServerFiles
import ServiceLifecycle
import Settings
import Synchronization

/// Backs the database up while the server runs, and removes older backups (`storage.backup`).
///
/// A failed backup is only a warning, and the server continues.
final class AutomaticBackup: Service {
    /// Reads the wall clock at least this often, because an operator may change it.
    private static let longestSleep = Duration.seconds(3_600)

    private struct Failure {
        var time: Timestamp
        var reason: String
        /// Whether no disk has room. The backup was not begun.
        var lacksRoom: Bool
    }

    private struct State {
        var newest: Timestamp?
        var failure: Failure?
    }

    private let schedule: BackupSchedule
    private let folder: BackupFolder
    private let backup: DatabaseBackup
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    private let state: Mutex<State>
    private let newestTime = newestTimeMetric.gauge()
    private let failureCount = failuresMetric.counter()

    /// Removes partial backups left by a killed server, and looks for the newest backup. Call this under the database's instance lock.
    ///
    /// - Parameters:
    ///   - database: The database's path.
    ///   - identity: The compressed public key of this server.
    ///   - free: The free bytes of a folder's disk, or nil to ask the system.
    init(
        _ settings: BackupSettings, database: String, identity: FixedBytes<33>, clock: any Clock<Duration>, wallClock: WallClock,
        free: (@Sendable (String) -> UInt64?)? = nil, logger: Logger
    ) {
        schedule = settings.schedule
        folder = BackupFolder(path: settings.folder, identity: identity)
        backup = DatabaseBackup(of: database, recipients: settings.recipients, free: free)
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        folder.removeLeftovers()
        let newest = schedule.newest(of: folder.backups(), at: wallClock.now())
        state = Mutex(State(newest: newest))
        if let newest { newestTime.set(newest.nanoseconds / 1_000_000_000) }
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                let now = self.wallClock.now()
                let delay = now.duration(to: self.nextTime(at: now))
                if delay > .zero {
                    try await self.clock.sleep(for: min(delay, Self.longestSleep))
                } else {
                    try await self.makeBackup(at: now)
                }
            }
        }
    }

    /// The newest backup's age, or nil if none exists.
    var newestAge: Duration? { state.withLock(\.newest).map { max(.zero, $0.duration(to: wallClock.now())) } }

    /// The last backup's failure, or empty if it succeeded.
    var warnings: [String] {
        state.withLock { $0.failure.map { ["backup: the last one failed: \($0.reason)"] } ?? [] }
    }

    private func nextTime(at now: Timestamp) -> Timestamp {
        state.withLock {
            schedule.nextTime(newest: $0.newest, failure: $0.failure?.time, lacksRoom: $0.failure?.lacksRoom == true, now: now)
        }
    }

    private func makeBackup(at now: Timestamp) async throws {
        let name = folder.name(at: now, isEncrypted: backup.isEncrypted)
        do {
            try folder.create()
            try await backup.write(to: folder.path(of: name))
            if !wallClock.read().isHeld { folder.remove(schedule.expired(folder.backups(), made: name, at: now)) }
        } catch {
            try Task.checkCancellation()
            // Any other error only costs this backup: a service that ends would end the server.
            let lacksRoom = if case BackupError.diskFull = error { true } else { false }
            state.withLock { $0.failure = Failure(time: now, reason: "\(error)", lacksRoom: lacksRoom) }
            failureCount.increment()
            return logger.warning(
                lacksRoom ? "no room for a backup; looking again in an hour" : "backup failed; retrying later",
                metadata: ["reason": "\(error)"])
        }
        state.withLock { $0 = State(newest: name.time) }
        newestTime.set(name.time.nanoseconds / 1_000_000_000)
        logger.notice(
            "backup completed", metadata: ["file": "\(folder.path(of: name))", "duration": "\(now.duration(to: wallClock.now()))"])
    }
}

extension AutomaticBackup {
    static let declarations = [newestTimeMetric, failuresMetric]

    private static let newestTimeMetric = Metric(
        .gauge, "pushserver_last_backup_timestamp_seconds", help: "Time of the newest automatic backup, in seconds since 1970.")
    private static let failuresMetric = Metric(.counter, "pushserver_backup_failures_total", help: "Automatic backups that failed.")
}
