import Envelope
import HTTPClient
import Settings
import Transport
import WakuREST

extension Foundations {
    func transport(_ bus: Bus) -> any MessageTransport {
        switch settings.transportKind {
        case .embedded:
            return EmbeddedTransport(bus: bus, pubsubTopics: settings.pubsubTopics)
        case .waku:
            let client = HTTPClient(configuration: .init(certificateAuthorityFile: settings.wakuCertificateAuthorityFile))
            return WakuTransport(
                nodes: settings.wakuURLs.map { WakuNode(url: $0, client: client, headers: settings.wakuHeaders) },
                configuration: settings.waku, checkpoints: store, clock: clock, wallClock: wallClock, logger: logger)
        }
    }

    func relays(_ bus: Bus, _ readiness: Readiness) -> [ListeningService] {
        settings.relayAddresses.enumerated().map { index, address in
            let relay = RelayServer(
                configuration: .init(
                    host: address.host, port: address.port, pubsubTopics: settings.pubsubTopics,
                    maximumConnectionCount: connections.relay), bus: bus,
                clock: .system, logger: logger, onListening: { readiness.relayListens(index, on: $0) })
            return ListeningService(relay, setting: "transport.embedded.listen", address: address)
        }
    }
}
