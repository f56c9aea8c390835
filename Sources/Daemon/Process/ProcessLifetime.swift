import Concurrency
import Dispatch
import Glibc
import Logging
import ServiceLifecycle
import Synchronization

/// Runs services until the process is told to end, and sees to it that it does end (INTERFACE.md, "Signals").
///
/// The first SIGTERM or SIGINT shuts down gracefully. When the grace period is over, what is under way is cancelled; when that takes too
/// long as well, the process ends all the same: with 0, because what was accepted is in the database. The second signal ends it at once.
final class ProcessLifetime: Sendable {
    typealias NamedService = (name: String, service: any Service)

    /// For the last line of a log that nobody reads.
    private static let lastLineLimit = Duration.seconds(1)

    private let limits: ShutdownLimits
    private let serviceManager: ServiceManager?
    private let logger: Logger
    private let isEnding = Atomic(false)
    private let shutdown = Notify()
    /// On threads of Dispatch, so that nothing that hangs in the pool of tasks holds them up.
    private let queue = DispatchQueue(label: "lifetime")
    private let signals = Mutex<[any DispatchSourceSignal]>([])

    /// From here on signals are caught: one that comes before ``run(_:)`` is not forgotten.
    init(limits: ShutdownLimits, serviceManager: ServiceManager? = nil, logger: Logger) {
        self.limits = limits
        self.serviceManager = serviceManager
        self.logger = logger
        let isCaught = DispatchGroup()
        signals.withLock { signals in
            signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2].map { number in
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                isCaught.enter()
                source.setRegistrationHandler { isCaught.leave() }
                source.setEventHandler { [self] in handle(number) }
                source.resume()
                return source
            }
        }
        isCaught.wait()
    }

    /// Returns when all services have ended: because they were told to, or because one of them did.
    ///
    /// - Parameter services: in the order in which they start; they end in reverse, one after the other.
    /// - Throws: what a service failed with.
    func run(_ services: [NamedService]) async throws {
        // Named: ServiceLifecycle would describe each with all that it holds, secrets included.
        var configuration = ServiceGroupConfiguration(
            services: services.map { name, service in
                .init(
                    service: service, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .gracefullyShutdownGroup, serviceName: name)
            }, logger: logger)
        configuration.maximumGracefulShutdownDuration = limits.gracePeriod
        let group = ServiceGroup(configuration: configuration)
        async let _ = shutDown(group)
        do {
            try await group.run()
        } catch is CancellationError {
            // The grace period is over, which is no failure.
        }
    }

    private func shutDown(_ group: ServiceGroup) async {
        await shutdown.wait()
        await group.triggerGracefulShutdown()
    }

    // MARK: Signals

    private func handle(_ signal: Int32) {
        if signal == SIGHUP {
            log(.notice, "SIGHUP: nothing is reloaded; changed settings hold after a restart")
        } else if signal == SIGUSR1 || signal == SIGUSR2 {
            // Their default action would end the process.
            log(.notice, "signal ignored", ["signal": "\(signal == SIGUSR1 ? "SIGUSR1" : "SIGUSR2")"])
        } else if isEnding.exchange(true, ordering: .relaxed) {
            Self.endAtOnce(by: signal)
        } else {
            serviceManager?.tell(.stopping(atMost: limits.process + Self.lastLineLimit), .status("draining"))
            log(.notice, "draining; a second signal ends the process at once", ["gracePeriod": "\(limits.gracePeriod.settingText)"])
            after(limits.gracePeriod) { $0.log(.warning, "the grace period is over: what is under way is given up") }
            after(limits.process) { $0.end() }
            shutdown.notify()
        }
    }

    private func after(_ duration: Duration, _ action: @escaping @Sendable (ProcessLifetime) -> Void) {
        queue.asyncAfter(deadline: .now() + duration / .seconds(1)) { action(self) }
    }

    private func end() {
        let line = log(.error, "something hangs: the process ends all the same; what was accepted is in the database")
        _ = line.wait(timeout: .now() + Self.lastLineLimit / .seconds(1))
        _exit(0)
    }

    /// As if the signal had not been caught.
    private static func endAtOnce(by number: Int32) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, number)
        signal(number, SIG_DFL)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
        // The kernel lets no signal end the first process of a container.
        _exit(128 + number)
    }

    /// On another thread: a standard error that nobody reads must not hold up the rest.
    @discardableResult
    private func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata? = nil) -> DispatchGroup {
        let line = DispatchGroup()
        DispatchQueue.global().async(group: line) { [logger] in logger.log(level: level, message, metadata: metadata) }
        return line
    }
}
