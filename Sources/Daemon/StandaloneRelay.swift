import Envelope
package import Logging
import MessageBus
import Relay
import ServiceLifecycle
import UnixSignals

/// `pushserver relay`: one or more embedded nodes on a bus of their own, without a server behind them.
package enum StandaloneRelay {
    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Parameters:
    ///   - archive: where the nodes keep their messages; of several nodes each appends its number.
    ///   - cacheCapacity: what a node keeps between two GETs.
    package static func run(
        listen: [ListenAddress], pubsubTopics: [String], archive: String?, cacheCapacity: Int, readyFile: String?, logger: Logger
    ) async throws {
        let bus = Bus()
        let readiness = Readiness(
            relayCount: listen.count, publicKey: nil, readyFile: readyFile, clock: ContinuousClock(), logger: logger, troubles: { [] })
        let relays = listen.enumerated().map { index, address in
            RelayServer(
                configuration: .init(
                    host: address.host, port: address.port, pubsubTopics: pubsubTopics,
                    cacheCapacity: cacheCapacity,
                    archivePath: archive.map { listen.count == 1 ? $0 : "\($0).\(index + 1)" }),
                bus: bus, clock: .system,
                logger: logger, onListening: { readiness.relayListens(index, on: $0) })
        }
        let group = ServiceGroup(
            configuration: .init(
                services: (relays + [readiness] as [any Service]).map {
                    .init(service: $0, failureTerminationBehavior: .gracefullyShutdownGroup)
                },
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
    }
}
