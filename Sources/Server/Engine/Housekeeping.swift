import CoreMetrics
import Envelope
import Logging
import PushProtocol
import Store
import Synchronization

/// The engine's work of each minute: it deletes old rows and segments, unregisters unused installations, and tells the log about messages
/// that arrive late or cannot be read.
struct Housekeeping: Sendable {
    private static let interval = Duration.seconds(60)
    /// Between two searches for times in the future, which take some seconds for millions of rows.
    private static let futureTimesInterval = Duration.seconds(24 * 3_600)

    let policy: RegistrationPolicy
    let directory: TopicDirectory
    let context: EngineContext
    let intake: Intake
    let openStage: OpenStage
    /// Whether the delivery learns which pushes Apple and Google accept. Without that, nothing tells whether a registration is unused.
    let confirmsDelivery: @Sendable () -> Bool

    /// Runs until the task is cancelled.
    func run() async {
        var lastRow: Int64 = 0
        var told = Told()
        var searchedAt: Duration?
        while (try? await context.clock.sleep(for: Self.interval)) != nil {
            logArrivals(&told)
            let reading = context.wallClock.read()
            guard !reading.isHeld else {
                searchedAt = nil
                continue
            }
            openStage.expireSegments(at: reading.now)
            do {
                let elapsed = context.time.elapsed()
                if searchedAt.map({ elapsed - $0 >= Self.futureTimesInterval }) ?? true {
                    try await setBackFutureTimes(at: reading.now)
                    searchedAt = elapsed
                }
                while try await context.store.prune(at: reading.pruning).isBounded {}
                if confirmsDelivery() { lastRow = try await unregisterUnused(after: lastRow, at: reading.now) }
            } catch {
                context.storeHealth.count()
                context.logger.error("pruning the store failed", metadata: ["error": "\(error)"])
            }
        }
    }

    private func setBackFutureTimes(at now: Timestamp) async throws {
        let count = try await context.store.setBackFutureTimes(at: now)
        if count > 0 { context.logger.notice("rows from the future have the present time now", metadata: ["rows": "\(count)"]) }
    }

    /// Unregisters installations that have neither registered nor received a push within the policy's lifetime, a limited number in each
    /// call.
    ///
    /// - Parameter row: The row after which the store continues its search, or 0 to start with the first.
    /// - Returns: The row after which the next call continues.
    private func unregisterUnused(after row: Int64, at now: Timestamp) async throws -> Int64 {
        let unused = try await context.store.unregisterUnused(for: policy.lifetime, after: row, at: now)
        for registration in unused.gone { directory.remove(registration: registration.registration, topics: registration.topics) }
        if !unused.gone.isEmpty {
            context.metrics.registrationsUnused.increment(by: unused.gone.count)
            context.logger.notice("unused registrations removed", metadata: ["registrations": "\(unused.gone.count)"])
        }
        return unused.lastRow
    }

    // MARK: The log

    /// What the log was told last.
    private struct Told {
        var versions = false
        var late = false
    }

    /// Logs when messages of unsupported versions, which anybody can send, start and end to be many, and when messages start and end to
    /// arrive late.
    private func logArrivals(_ told: inout Told) {
        let excess = intake.unreadableExcess
        if told.versions != (excess != nil) {
            told.versions.toggle()
            if let excess {
                context.logger.info(
                    "ignoring messages of unsupported versions",
                    metadata: [
                        "unsupported": "\(excess.unreadableCount)", "supported": "\(excess.readableCount)",
                        "lastVersion": "\(excess.lastVersion)",
                    ])
            } else {
                context.logger.info("no longer ignoring messages of unsupported versions")
            }
        }
        if told.late != openStage.areArrivalsLate {
            told.late.toggle()
            context.logger.warning("\(told.late ? OpenStage.lateWarning : "registered senders' messages arrive in time again")")
        }
    }
}
