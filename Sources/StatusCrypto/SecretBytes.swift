/// 32 secret bytes that are wiped with their last reference and that nothing prints.
///
/// A class, so that there is one copy of them in memory however often it is passed on.
package final class SecretBytes: Sendable {
    // Written in the initialiser and in `deinit` only, when no other reference exists: nobody can see it change.
    nonisolated(unsafe) private var storage: FixedBytes<32>

    /// The caller's copy is the caller's to forget.
    package init(_ bytes: FixedBytes<32>) {
        unsafe storage = bytes
    }

    deinit {
        unsafe storage.wipe()
    }

    /// Lends the bytes: for a computation, a key file, a database. Whoever copies them out answers for the copy.
    package func withExposedBytes<Result: ~Copyable, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(storage.span)
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A key of AES-256-GCM: that of a topic (PROTOCOL.md §2), or the ECDH X coordinate of two parties (PROTOCOL.md §1).
package typealias SymmetricKey = SecretBytes
