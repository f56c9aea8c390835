import CoreMetrics
import Envelope
package import Logging
import Observation
import ServerFiles
package import Settings
import Store

/// The daemon: opens its files, composes its parts, and runs them until a signal stops the process.
package enum Server {
    /// Runs until SIGTERM or SIGINT, then drains. Call this function once in a process, because it binds the metrics and the signals.
    ///
    /// - Throws: `ReadyFileError`, `InstanceLockError`, `KeyFileError`, `MissingKeyError`, `UnusableDatabaseError` and `AdminTokenError`
    ///   before anything started. Later `ListenError`, or another error with which a service failed.
    package static func run(_ settings: Settings, readyFile: String?, logger: Logger) async throws {
        let openFileLimit = OpenFileLimit.raise()
        let serviceManager = ServiceManager()
        let lifetime = ProcessLifetime(
            limits: ShutdownLimits(gracePeriod: settings.shutdownGracePeriod), serviceManager: serviceManager, logger: logger)
        logger.notice(
            "starting",
            metadata: [
                "version": "\(BuildInfo.version)", "commit": "\(BuildInfo.commit)",
                "settings": "\(settings.origins.joined(separator: ", "))",
                "storage": "\(settings.storage.name)", "transport": "\(settings.transportKind.rawValue)",
                "pubsubTopics": "\(settings.pubsubTopics.joined(separator: ","))", "openFiles": "\(openFileLimit)",
            ])
        for deprecation in settings.deprecations { logger.warning("deprecated setting", metadata: ["setting": "\(deprecation)"]) }
        for recommendation in settings.recommendations { logger.warning("unsafe setting", metadata: ["setting": "\(recommendation)"]) }
        let metrics = PrometheusRegistry(ServerMetrics.declarations)
        MetricsSystem.bootstrap(metrics)
        let process = ProcessMetrics(registry: metrics)
        let readyFile = try readyFile.map { path throws(ReadyFileError) in try ReadyFile(path: path) }
        let endStart = StartProgress.report(to: serviceManager)
        defer { endStart() }
        try await settings.files.withOpen(for: settings.databaseUse, logger: logger) { identity, store in
            PlainCopyFolder.removeLeftovers(besideDatabase: settings.storagePath, logger: logger)
            TemporaryName.removeLeftovers(beside: settings.adminTokenFile)
            let token = try AdminToken(writingTo: settings.adminTokenFile)
            endStart()
            try readyFile?.removeEarlier()
            let time = ClockKeeper(
                .system, after: try await store.clock(), clock: ContinuousClock(), store: store, logger: logger)
            let lostTimes = try await LostTimes(of: store.cluster, wallClock: time.wallClock, logger: logger)
            let foundations = Foundations(
                settings: settings, identity: identity, store: store, adminToken: token, openFileLimit: openFileLimit, metrics: metrics,
                process: process, readyFile: readyFile, serviceManager: serviceManager, time: time,
                lostTimes: lostTimes, sinceStart: SteadyTime(clock: ContinuousClock(), start: time.wallClock.read().stamp), logger: logger)
            try await lifetime.run(Composition(foundations).services)
        }
        logger.notice("stopped")
    }
}
