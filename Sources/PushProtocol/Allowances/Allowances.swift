package import Envelope
package import StatusCrypto

/// What everybody may still do of what is limited by what happens now. Kept in memory: a restart gives everybody all of it again.
package struct Allowances: Sendable {
    /// What a decision takes.
    package enum Spending: Sendable, Equatable {
        /// A push to an installation.
        case push(Installation)
        /// A registration under a key, with its bytes.
        case registration(Digest64, byteCount: Int)
        /// An answer to a query: the row of its message, its Status message id, and what each asked key is charged, in bytes.
        case answer(message: Int64, question: Digest32, byteCounts: [Digest64: Int])
    }

    /// The steady time of what is decided.
    package var now: Timestamp
    private var pushes = CreditBuckets<Installation>(capacity: ProtocolLimits.pushCapacity, interval: ProtocolLimits.pushInterval)
    private var registrations = CreditBuckets<Digest64>(
        capacity: ProtocolLimits.registrationCapacity, interval: ProtocolLimits.registrationInterval)
    private var registrationBytes = CreditBuckets<Digest64>(
        capacity: ProtocolLimits.registrationByteCapacity, interval: ProtocolLimits.registrationByteInterval)
    /// Bytes of large answers, by the key that they tell of.
    private var answerBytes = CreditBuckets<Digest64>(
        capacity: ProtocolLimits.answerByteCapacity, interval: ProtocolLimits.answerByteInterval)
    private var answers = RecentQueries()

    package init(now: Timestamp = Timestamp(nanoseconds: 0)) {
        self.now = now
    }

    package mutating func spend(_ spending: Spending) {
        switch spending {
        case .push(let target): pushes.spend(of: target, at: now)
        case .registration(let keyHash, let byteCount):
            registrations.spend(of: keyHash, at: now)
            registrationBytes.spend(byteCount, of: keyHash, at: now)
        case .answer(let message, let question, let byteCounts):
            answers.note(message, asking: question, at: now)
            for (keyHash, byteCount) in byteCounts { answerBytes.spend(byteCount, of: keyHash, at: now) }
        }
    }

    /// How many pushes may go to an installation at once.
    package func pushCount(to target: Installation) -> Int {
        max(0, pushes.credits(of: target, at: now))
    }

    /// When the next push may go to an installation: now, or later.
    package func nextPush(to target: Installation) -> Timestamp {
        pushes.nextCredit(of: target, at: now)
    }

    /// Whether a key may register something now.
    package func mayRegister(_ keyHash: Digest64) -> Bool {
        registrations.credits(of: keyHash, at: now) > 0
    }

    /// The bytes of registrations that a key may write now in the order of arrival.
    package func registrationByteCount(of keyHash: Digest64) -> Int {
        max(0, registrationBytes.credits(of: keyHash, at: now))
    }

    /// What may be told of a key now, with what is free of charge.
    package func answerByteCount(of keyHash: Digest64) -> Int {
        ProtocolLimits.freeAnswerByteCount + max(0, answerBytes.credits(of: keyHash, at: now))
    }

    /// Whether a message that asks a question may have an answer.
    package func mayAnswer(_ message: Int64, to question: Digest32) -> Bool {
        answers.allow(message, asking: question, at: now)
    }

    /// What is known of some targets, questions and keys alone.
    package func restricted(
        toTargets targets: [Installation], registeringKeys: [Digest64], questions: [Digest32], of queriedKeys: [Digest64]
    ) -> Allowances {
        var restricted = Allowances(now: now)
        restricted.registrations = registrations.restricted(to: registeringKeys)
        restricted.pushes = pushes.restricted(to: targets)
        restricted.answerBytes = answerBytes.restricted(to: queriedKeys)
        restricted.answers = answers.restricted(to: questions)
        return restricted
    }
}
