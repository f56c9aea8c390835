package import Envelope
import Synchronization

/// The in-process network: delivers what a member publishes to all other members.
///
/// A message reaches the recorders before the listeners. If a recorder fails, publishing fails, no listener receives the message, and its
/// sender publishes it again. The bus neither keeps an order between messages nor removes duplicates.
package final class Bus: Sendable {
    private let members = Mutex(Members())

    package init() {}

    /// Adds a member that must have recorded a message before its publisher succeeds.
    package func attach(recorder: any BusRecorder) -> BusMembership {
        join { $0.recorders[$1] = recorder }
    }

    /// Adds a member that receives messages and cannot fail.
    package func attach(listener: any BusListener) -> BusMembership {
        join { $0.listeners[$1] = listener }
    }

    private func join(_ add: (inout Members, UInt64) -> Void) -> BusMembership {
        members.withLock { members in
            members.lastIdentifier += 1
            add(&members, members.lastIdentifier)
            return BusMembership(bus: self, identifier: members.lastIdentifier)
        }
    }

    fileprivate func leave(_ identifier: UInt64) {
        members.withLock { members in
            members.recorders[identifier] = nil
            members.listeners[identifier] = nil
        }
    }

    fileprivate func publish(_ envelope: WakuEnvelope, from identifier: UInt64) async throws {
        let (recorders, listeners) = members.withLock { ($0.recorders, $0.listeners) }
        for (other, recorder) in recorders where other != identifier { try await recorder.record(envelope) }
        for (other, listener) in listeners where other != identifier { listener.receive(envelope) }
    }

    private struct Members {
        var recorders: [UInt64: any BusRecorder] = [:]
        var listeners: [UInt64: any BusListener] = [:]
        var lastIdentifier: UInt64 = 0
    }
}

/// The reason why a recorder does not record at the moment.
package enum NotRecording: Error, CustomStringConvertible {
    case notReceiving
    case noRoom

    package var description: String {
        switch self {
        case .notReceiving: "the server is not receiving"
        case .noRoom: "the server's intake is full"
        }
    }
}

/// A member that records received envelopes durably: the server.
package protocol BusRecorder: Sendable {
    /// Returns when the envelope is recorded durably, or is not for this member.
    ///
    /// - Throws: Any error if the envelope could not be recorded. Publishing then fails, and no listener receives the envelope.
    func record(_ envelope: WakuEnvelope) async throws
}

/// A member that keeps received envelopes in memory only, if at all.
package protocol BusListener: Sendable {
    func receive(_ envelope: WakuEnvelope)
}

/// A member's access to the bus, through which it publishes. The bus delivers to all other members.
package struct BusMembership: Sendable {
    private let bus: Bus
    private let identifier: UInt64

    fileprivate init(bus: Bus, identifier: UInt64) {
        self.bus = bus
        self.identifier = identifier
    }

    /// Returns when all recorders and all listeners have the envelope.
    ///
    /// - Throws: A recorder's error. No listener then has the envelope.
    package func publish(_ envelope: WakuEnvelope) async throws {
        try await bus.publish(envelope, from: identifier)
    }

    /// Removes the member permanently. A second call does nothing.
    package func leave() {
        bus.leave(identifier)
    }
}
