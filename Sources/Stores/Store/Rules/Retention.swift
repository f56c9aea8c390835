package import Envelope
import PushProtocol

/// The times before which rows are pruned.
package struct Retention: Sendable {
    private let now: Timestamp

    package init(at now: Timestamp) {
        self.now = now
    }

    package var decidedMessages: Timestamp { now.advanced(by: .zero - ProtocolLimits.decidedMessageLifetime) }
    package var finishedPushes: Timestamp { now.advanced(by: .zero - ProtocolLimits.finishedPushLifetime) }
    /// The copies of dead registrations, and suspicions against tokens.
    package var deadRegistrations: Timestamp { now.advanced(by: .zero - DeadRegistration.lifetime) }
    /// The marks of tokens whose last delivery is as long ago as an unused registration lives by default.
    package var provenTokens: Timestamp { now.advanced(by: .zero - RegistrationPolicy.defaultLifetime) }
    package var removedDevices: Timestamp { now.advanced(by: .zero - ProxyDevice.removalMemory) }
}

/// How many gateway devices may be removed because their tokens are dead. It limits the damage if gorush runs in the wrong environment,
/// where every token looks dead.
package struct DeathBudget: Sendable {
    private static let maximumDeathsPerHour = 10

    /// Deaths from that time on count.
    package let start: Timestamp

    package init(at now: Timestamp) {
        start = now.advanced(by: .seconds(-3_600))
    }

    /// Returns how many devices may be removed now.
    ///
    /// - Parameter count: The number of deaths since ``start``.
    package func remaining(after count: Int) -> Int { max(0, Self.maximumDeathsPerHour - count) }
}
