import Envelope
package import Logging
package import Settings
import Transport

/// `pushserver relay`: embedded nodes on their own bus, without a server behind them.
package enum StandaloneRelay {
    /// The relay stops at the first signal. A client whose request is in progress still gets the response.
    private static let limits = ShutdownLimits(gracePeriod: .seconds(5))

    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Parameters:
    ///   - archive: The nodes' store, as a path. If there are several nodes, each appends its number.
    ///   - cacheCapacity: The number of messages that a node keeps between two GETs.
    package static func run(
        listen: [ListenAddress], pubsubTopics: [String], archive: String?, cacheCapacity: Int, readyFile: String?, logger: Logger
    ) async throws {
        OpenFileLimit.raise()
        let lifetime = ProcessLifetime(limits: limits, logger: logger)
        let bus = Bus()
        let readyFile = try readyFile.map { path throws(ReadyFileError) in try ReadyFile(path: path) }
        try readyFile?.removeEarlier()
        let readiness = Readiness(
            relayCount: listen.count, publicKey: nil,
            readyFile: readyFile,
            time: SteadyTime(clock: ContinuousClock(), start: WallClock.system.now()), logger: logger)
        let relays = listen.enumerated().map { index, address in
            let relay = RelayServer(
                configuration: .init(
                    host: address.host, port: address.port, pubsubTopics: pubsubTopics,
                    cacheCapacity: cacheCapacity,
                    archivePath: archive.map { listen.count == 1 ? $0 : "\($0).\(index + 1)" }),
                bus: bus, clock: .system,
                logger: logger, onListening: { readiness.relayListens(index, on: $0) })
            return ListeningService(relay, setting: "--listen", address: address)
        }
        try await lifetime.run(relays.map { ("relay", $0) } + [("readiness", readiness)])
    }
}
