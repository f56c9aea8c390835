package import Envelope
import ServiceLifecycle
import Synchronization
import Wire

/// The server's transport when the network is the bus of its own process.
///
/// It is on the bus from its creation, not from `run`: until somebody records, publishing on the server's pubsub topics fails, so that
/// a POST to the embedded relay is answered 200 only if the message is recorded.
package final class EmbeddedTransport: MessageTransport {
    private let recorder: Recorder
    private let membership: BusMembership

    /// - Parameter pubsubTopics: those the server serves; messages on others pass by.
    package init(bus: Bus, pubsubTopics: [String]) {
        recorder = Recorder(pubsubTopics: Set(pubsubTopics))
        membership = bus.attach(recorder: recorder)
    }

    package func run(receiver: any EnvelopeReceiver) async throws {
        recorder.receiver.withLock { $0 = receiver }
        defer { recorder.receiver.withLock { $0 = nil } }
        try? await gracefulShutdown()  // throws only when cancelled, which ends this just as well
    }

    package func publish(_ envelope: WakuEnvelope) async throws {
        try await membership.publish(envelope)
    }

    package var healthIssues: [String] {
        recorder.receiver.withLock { $0 == nil } ? ["the embedded transport is not running"] : []
    }

    /// What the bus holds of the transport: apart from it, so that bus and transport do not keep each other alive.
    private final class Recorder: BusRecorder {
        let pubsubTopics: Set<String>
        let receiver = Mutex<(any EnvelopeReceiver)?>(nil)

        init(pubsubTopics: Set<String>) {
            self.pubsubTopics = pubsubTopics
        }

        func record(_ envelope: WakuEnvelope) async throws {
            guard pubsubTopics.contains(envelope.pubsubTopic) else { return }
            guard let receiver = receiver.withLock({ $0 }) else { throw NotRecording.notReceiving }
            guard receiver.isInterested(in: envelope.message.contentTopic) else { return }
            do {
                try await receiver.receive([envelope], origin: .live)
            } catch is Overload {
                throw NotRecording.noRoom
            }
        }
    }
}
