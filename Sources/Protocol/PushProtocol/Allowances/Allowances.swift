package import Bytes
package import Envelope
import StatusCrypto

/// The remaining rate-limit credits: pushes per target, registrations and response bytes per owner, responses per query. They are in memory
/// only, and a restart refills them.
package struct Allowances: Sendable {
    /// The credits that a decision spends.
    package enum Spending: Sendable, Equatable {
        case push(Installation)
        /// A registration under a key, with its bytes.
        case registration(Digest64, byteCount: Int)
        /// A response to a query: its message's row, its Status message id, a hash of the response, and the bytes charged to each queried
        /// key.
        case response(message: Int64, query: Digest32, digest: Int, byteCounts: [Digest64: Int])
    }

    /// When the decision is made, in monotonic time.
    package var now: Timestamp
    /// How many servers decide. A limit holds for all of them together, and each decides an equal fraction of the messages, so every
    /// decision spends credits for all.
    private var serverCount = 1
    private var pushes = CreditBuckets<Installation>(capacity: ProtocolLimits.pushCapacity, interval: ProtocolLimits.pushInterval)
    private var registrations = CreditBuckets<Digest64>(
        capacity: ProtocolLimits.registrationCapacity, interval: ProtocolLimits.registrationInterval)
    private var registrationBytes = CreditBuckets<Digest64>(
        capacity: ProtocolLimits.registrationByteCapacity, interval: ProtocolLimits.registrationByteInterval)
    /// The bytes of large responses, by queried key.
    private var responseBytes = FairAllocation<Digest64>(
        capacity: ProtocolLimits.responseByteCapacity, decay: ProtocolLimits.responseByteDecay)
    private var queries = RecentQueries()

    package init(now: Timestamp = Timestamp(nanoseconds: 0)) {
        self.now = now
    }

    /// Sets when the decision is made, and how many servers decide.
    package mutating func set(_ now: Timestamp, serverCount: Int) {
        (self.now, self.serverCount) = (now, serverCount)
    }

    /// Spends credits, available or not.
    package mutating func spend(_ spending: Spending) {
        switch spending {
        case .push(let target): pushes.spend(serverCount, of: target, at: now)
        case .registration(let keyHash, let byteCount):
            registrations.spend(serverCount, of: keyHash, at: now)
            registrationBytes.spend(byteCount * serverCount, of: keyHash, at: now)
        case .response(let message, let query, let digest, let byteCounts):
            queries.record(message, query: query, digest: digest, at: now)
            for (keyHash, byteCount) in byteCounts { responseBytes.use(byteCount * serverCount, by: keyHash, at: now) }
        }
    }

    /// Returns the number of pushes that may be sent to an installation now.
    package func pushCount(to target: Installation) -> Int {
        max(0, pushes.credits(of: target, at: now))
    }

    /// Returns when an installation may get its next push: now or later.
    package func nextPush(to target: Installation) -> Timestamp {
        pushes.nextCredit(of: target, at: now)
    }

    /// Returns whether a key has a credit left to register now.
    package func mayRegister(_ keyHash: Digest64) -> Bool {
        registrations.credits(of: keyHash, at: now) > 0
    }

    /// Returns the number of bytes of registrations that a key may write now in the order of arrival.
    package func registrationByteCount(of keyHash: Digest64) -> Int {
        max(0, registrationBytes.credits(of: keyHash, at: now))
    }

    /// Returns the number of bytes that a response may contain about a key now: `Int.max` for no limit, or
    /// `ProtocolLimits.unmeteredResponseByteCount`.
    package func answerByteCount(of keyHash: Digest64) -> Int {
        responseBytes.allows(keyHash, at: now) ? .max : ProtocolLimits.unmeteredResponseByteCount
    }

    /// Returns whether a query may get a response.
    ///
    /// - Parameters:
    ///   - message: The query's row.
    ///   - query: The query's Status message id.
    ///   - digest: A hash of the response.
    package func mayRespond(_ message: Int64, to query: Digest32, digest: Int) -> Bool {
        queries.allows(message, query: query, digest: digest, at: now)
    }

    /// Returns only what concerns the given targets, keys and queries.
    package func restricted(
        toTargets targets: [Installation], registeringKeys: [Digest64], queries queryIDs: [Digest32], of queriedKeys: [Digest64]
    ) -> Allowances {
        var restricted = Allowances(now: now)
        restricted.serverCount = serverCount
        restricted.registrations = registrations.restricted(to: registeringKeys)
        restricted.pushes = pushes.restricted(to: targets)
        restricted.responseBytes = responseBytes.restricted(to: queriedKeys)
        restricted.queries = queries.restricted(to: queryIDs)
        return restricted
    }
}
