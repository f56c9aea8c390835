package import Envelope
package import StatusCrypto
package import Store

/// The rows that `pushctl forget` removed or emptied.
package struct ForgetReport: Report {
    private let registrations: Int
    private let tombstones: Int
    private let pushes: Int
    private let deadTokens: Int
    private let replies: Int

    package init(forgetting key: PublicKey, at now: Timestamp, in store: any OperatorViews) async throws {
        let forgotten = try await store.forget(key, at: now)
        registrations = forgotten.registrationCount
        tombstones = forgotten.tombstoneCount
        pushes = forgotten.pushCount
        deadTokens = forgotten.deadRegistrationCount
        replies = forgotten.replyCount
    }

    package var lines: [String] {
        [
            "registrations  \(registrations)", "pushes         \(pushes)", "dead tokens    \(deadTokens)", "replies        \(replies)",
            "tombstones stay: \(tombstones)",
        ]
    }

    package var failure: Failure? {
        [registrations, tombstones, pushes, deadTokens, replies].allSatisfy { $0 == 0 }
            ? .failed("The server does not know that key.") : nil
    }
}
