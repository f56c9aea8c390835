package import Envelope
import Synchronization

/// The in-process network: what one member publishes reaches every other.
///
/// Recorders are asked first, because a message that the server could not record must not have reached anybody: its sender, who is
/// told that publishing failed, sends it again. No order is promised between messages, nor is a message carried only once.
package final class Bus: Sendable {
    private let members = Mutex(Members())

    package init() {}

    /// Adds a member that has to have written a message down before its publisher is told that all is well.
    package func attach(recorder: any BusRecorder) -> BusMembership {
        join { $0.recorders[$1] = recorder }
    }

    /// Adds a member that merely hears.
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
        for (other, listener) in listeners where other != identifier { listener.hear(envelope) }
    }

    private struct Members {
        var recorders: [UInt64: any BusRecorder] = [:]
        var listeners: [UInt64: any BusListener] = [:]
        var lastIdentifier: UInt64 = 0
    }
}

/// Thrown by a recorder that does not record at the moment.
package enum NotRecording: Error, CustomStringConvertible {
    case notReceiving
    case noRoom

    package var description: String {
        switch self {
        case .notReceiving: "the server is not receiving"
        case .noRoom: "the server has no room for more messages"
        }
    }
}

/// The server's side of the bus.
package protocol BusRecorder: Sendable {
    /// Returns when the envelope is recorded durably, or is not for this member.
    ///
    /// - Throws: when it could not be recorded: then publishing fails, and no listener hears of the envelope.
    func record(_ envelope: WakuEnvelope) async throws
}

/// A member that keeps what it hears in memory, if at all.
package protocol BusListener: Sendable {
    func hear(_ envelope: WakuEnvelope)
}

/// A member's place on the bus: what it publishes through it comes back to all but itself.
package struct BusMembership: Sendable {
    private let bus: Bus
    private let identifier: UInt64

    fileprivate init(bus: Bus, identifier: UInt64) {
        self.bus = bus
        self.identifier = identifier
    }

    /// Returns when all recorders have the envelope and all listeners have heard it.
    ///
    /// - Throws: what a recorder threw; no listener has heard the envelope then.
    package func publish(_ envelope: WakuEnvelope) async throws {
        try await bus.publish(envelope, from: identifier)
    }

    /// Leaves the bus for good; a second time changes nothing.
    package func leave() {
        bus.leave(identifier)
    }
}
