package import Envelope
import TestSupport
import Transport

/// A member of the bus that records the envelopes that it receives.
package final class Listener: BusListener {
    private let recorder = Recorder<WakuEnvelope>()

    package init() {}

    package var received: [WakuEnvelope] { recorder.all }

    package func receive(_ envelope: WakuEnvelope) { recorder.append(envelope) }
}
