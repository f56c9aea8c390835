package import Envelope
import ServiceLifecycle
import Synchronization
import Wire

/// A transport that connects the server to the in-process bus.
///
/// The transport joins the bus when it is created, before `run`. Until a receiver records, publishing on the server's pubsub topics fails,
/// so that the embedded relay answers a POST with 200 only if the message is recorded.
package final class EmbeddedTransport: MessageTransport {
    private let recorder: Recorder
    private let membership: BusMembership

    /// - Parameter pubsubTopics: The topics that the server serves. The transport ignores messages on other topics.
    package init(bus: Bus, pubsubTopics: [String]) {
        recorder = Recorder(pubsubTopics: Set(pubsubTopics))
        membership = bus.attach(recorder: recorder)
    }

    package func run(receiver: any EnvelopeReceiver) async throws {
        recorder.receiver.withLock { $0 = receiver }
        defer { recorder.receiver.withLock { $0 = nil } }
        try? await gracefulShutdown()  // throws only when cancelled, which ends the transport as well
    }

    package func publish(_ envelope: WakuEnvelope) async throws {
        try await membership.publish(envelope)
    }

    /// Records the envelope first, as the bus does with a message of another member.
    package func publishToSelf(_ envelope: WakuEnvelope) async throws {
        try await recorder.record(envelope)
        try await membership.publish(envelope)
    }

    package var healthIssues: [String] {
        recorder.receiver.withLock { $0 == nil } ? ["the embedded transport is not running"] : []
    }

    /// The bus's reference to the transport: a separate object, so that bus and transport do not retain each other.
    private final class Recorder: BusRecorder {
        let pubsubTopics: Set<String>
        let receiver = Mutex<(any EnvelopeReceiver)?>(nil)

        init(pubsubTopics: Set<String>) {
            self.pubsubTopics = pubsubTopics
        }

        func record(_ envelope: WakuEnvelope) async throws {
            guard pubsubTopics.contains(envelope.pubsubTopic) else { return }
            guard let receiver = receiver.withLock({ $0 }) else { throw NotRecording.notReceiving }
            let isDiscovered = await receiver.discover { [envelope.message.contentTopic] }
            guard !isDiscovered || receiver.isInterested(in: envelope.message.contentTopic) else { return }
            do {
                try await receiver.receive([envelope], origin: .live)
            } catch is Overload {
                throw NotRecording.noRoom
            }
        }
    }
}
