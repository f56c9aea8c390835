import Dispatch
import Glibc
import Logging
import ServiceLifecycle
import Settings
import Store
import Synchronization
import Tasks

/// Runs services until a signal or a failure stops them, and guarantees that the process exits (INTERFACE.md, "Signals").
///
/// The first SIGTERM or SIGINT shuts down gracefully. When the grace period ends, work in flight is cancelled. If a service still hangs
/// then, the process exits with 0 anyway, because what was accepted is in the database. The second signal ends the process immediately.
final class ProcessLifetime: Sendable {
    typealias NamedService = (name: String, service: any Service)

    /// How long to try to write the last log line, if nobody reads the log.
    private static let lastLineLimit = Duration.seconds(1)

    private let limits: ShutdownLimits
    private let serviceManager: ServiceManager?
    private let logger: Logger
    private let isEnding = Atomic(false)
    private let shutdown = Notify()
    /// The timers run on threads of Dispatch: a hanging task pool does not delay them.
    private let queue = DispatchQueue(label: "lifetime")
    private let signals = Mutex<[any DispatchSourceSignal]>([])

    /// Creates the lifetime and starts to catch signals, even before ``run(_:)``.
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

    /// Runs the services until a signal arrives or any of them stops, and returns when all have stopped.
    ///
    /// - Parameter services: The services in the order in which they start. They stop in reverse order, each after the previous.
    /// - Throws: The error with which a service failed.
    func run(_ services: [NamedService]) async throws {
        // The services have names, because ServiceLifecycle would otherwise print each with all its properties, including secrets.
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
            // The grace period has ended, which is not a failure.
        }
    }

    private func shutDown(_ group: ServiceGroup) async {
        await shutdown.wait()
        await group.triggerGracefulShutdown()
    }

    // MARK: Signals

    private func handle(_ signal: Int32) {
        if signal == SIGHUP {
            log(.notice, "ignoring SIGHUP: settings are read at the start; restart the server to apply changes")
        } else if signal == SIGUSR1 || signal == SIGUSR2 {
            // Their default action would end the process.
            log(.notice, "signal ignored", ["signal": "\(signal == SIGUSR1 ? "SIGUSR1" : "SIGUSR2")"])
        } else if isEnding.exchange(true, ordering: .relaxed) {
            Self.endAtOnce(by: signal)
        } else {
            serviceManager?.notify(.stopping(atMost: limits.process + Self.lastLineLimit), .status("draining"))
            log(.notice, "draining; a second signal ends the process at once", ["gracePeriod": "\(limits.gracePeriod.settingText)"])
            after(limits.gracePeriod) { $0.log(.warning, "the grace period is over: cancelling work in flight") }
            after(limits.process) { $0.end() }
            shutdown.notify()
        }
    }

    private func after(_ duration: Duration, _ action: @escaping @Sendable (ProcessLifetime) -> Void) {
        queue.asyncAfter(deadline: .now() + duration / .seconds(1)) { action(self) }
    }

    private func end() {
        let line = log(.error, "the shutdown took too long; exiting. The database has every accepted push")
        _ = line.wait(timeout: .now() + Self.lastLineLimit / .seconds(1))
        _exit(0)
    }

    /// Ends the process without a drain, because nothing that it has in memory fits the database any more.
    static func abandon(_ error: StoreError, logger: Logger) {
        let line = log(.critical, "ending at once, to start again", ["error": "\(error)"], logger)
        _ = line.wait(timeout: .now() + lastLineLimit / .seconds(1))
        _exit(ExitStatus.code(for: error))
    }

    /// Ends the process by the signal's default action.
    private static func endAtOnce(by number: Int32) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, number)
        signal(number, SIG_DFL)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
        // A signal's default action does not end a container's first process.
        _exit(128 + number)
    }

    /// Logs on another thread: a standard error without a reader must not delay the exit.
    @discardableResult
    private func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata? = nil) -> DispatchGroup {
        Self.log(level, message, metadata, logger)
    }

    private static func log(
        _ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata?, _ logger: Logger
    ) -> DispatchGroup {
        let line = DispatchGroup()
        DispatchQueue.global().async(group: line) { logger.log(level: level, message, metadata: metadata) }
        return line
    }
}
