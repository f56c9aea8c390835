package import Envelope
package import StatusCrypto

/// What everybody may still do of what is limited by what happens now. Kept in memory: a restart gives everybody all of it again.
package struct Allowances: Sendable {
    /// What a decision takes.
    package enum Spending: Sendable, Equatable {
        /// An answer to a query: the row of its message, its Status message id, and what each asked key is charged, in bytes.
        case answer(message: Int64, question: Digest32, byteCounts: [Digest64: Int])
    }

    /// The steady time of what is decided.
    package var now: Timestamp
    /// Bytes of large answers, by the key that they tell of.
    private var answerBytes = CreditBuckets<Digest64>(
        capacity: Limits.answerByteCapacity, interval: Limits.answerByteInterval)
    private var answers = AnsweredQuestions()

    package init(now: Timestamp = Timestamp(nanoseconds: 0)) {
        self.now = now
    }

    package mutating func spend(_ spending: Spending) {
        switch spending {
        case .answer(let message, let question, let byteCounts):
            answers.note(message, asking: question, at: now)
            for (keyHash, byteCount) in byteCounts { answerBytes.spend(byteCount, of: keyHash, at: now) }
        }
    }

    /// What may be told of a key now, with what is free of charge.
    package func answerByteCount(of keyHash: Digest64) -> Int {
        Limits.freeAnswerByteCount + max(0, answerBytes.credits(of: keyHash, at: now))
    }

    /// Whether a message that asks a question may have an answer.
    package func mayAnswer(_ message: Int64, to question: Digest32) -> Bool {
        answers.allow(message, asking: question, at: now)
    }

    /// What is known of some questions and keys alone.
    package func restricted(
        toQuestions questions: some Sequence<Digest32>, of queriedKeys: some Sequence<Digest64>
    ) -> Allowances {
        var restricted = Allowances(now: now)
        restricted.answerBytes = answerBytes.restricted(to: queriedKeys)
        restricted.answers = answers.restricted(to: questions)
        return restricted
    }
}
