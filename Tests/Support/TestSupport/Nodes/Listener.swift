package import Envelope
import Transport

/// A member of the bus that remembers what it hears.
package final class Listener: BusListener {
    private let recorder = Recorder<WakuEnvelope>()

    package init() {}

    package var heard: [WakuEnvelope] { recorder.all }

    package func hear(_ envelope: WakuEnvelope) { recorder.append(envelope) }
}
