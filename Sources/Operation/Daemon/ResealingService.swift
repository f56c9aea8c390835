import Logging
import ServiceLifecycle
import Store
import Tasks

/// Re-seals the database in the background after the key was rotated. This doesn't affect readiness.
struct ResealingService: Service {
    /// Between two transactions, so that other writers seldom wait.
    private static let pause = Duration.milliseconds(10)
    private static let backOff = BackOff(first: .seconds(1), longest: .seconds(60), minimumShare: 0.5)
    /// A line is logged for each tenth of the work.
    private static let logFraction = 0.1

    private let store: any SealedStore
    private let clock: any Clock<Duration>
    private let logger: Logger

    init(store: any SealedStore, clock: any Clock<Duration>, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.reseal() }
        // A service that returns stops the server.
        try await gracefulShutdown()
    }

    private func reseal() async {
        var logged: Double?
        var failureCount = 0
        while !Task.isCancelled {
            do {
                let state = try await logged == nil ? store.sealingProgress() : store.resealNext()
                failureCount = 0
                switch state {
                case .sealed:
                    if logged != nil { logger.notice("re-sealing completed") }
                    return
                case .resealing:
                    let fraction = state.fraction
                    if logged.map({ fraction >= $0 + Self.logFraction }) ?? true {
                        logger.notice("re-sealing the database", metadata: ["percent": "\(state.percent)"])
                        logged = fraction
                    }
                }
            } catch {
                // A start that fails, or a shutdown, closes the database.
                guard !Task.isCancelled else { return }
                failureCount += 1
                if failureCount == 1 { logger.warning("re-sealing failed; retrying", metadata: ["error": "\(error)"]) }
            }
            let delay =
                failureCount == 0
                ? Self.pause : Self.backOff.delay(afterFailures: failureCount, jitter: .random(in: 0...1))
            try? await clock.sleep(for: delay)
        }
    }
}
